import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decryptText, encryptText } from './encrypt-text.ts';

const key = randomBytes(32);

describe('encryptText', () => {
  it('is undone by decryptText, and never twice the same', () => {
    const [first, second] = [encryptText(key, 'a sécret', 'row 1'), encryptText(key, 'a sécret', 'row 1')];
    expect(first).not.toBe(second);
    expect(decryptText(key, first, 'row 1')).toBe('a sécret');
  });

  it('does not open with another key, in another row, or after a change', () => {
    const encrypted = encryptText(key, 'a secret', 'row 1');
    expect(decryptText(randomBytes(32), encrypted, 'row 1')).toBeUndefined();
    expect(decryptText(key, encrypted, 'row 2')).toBeUndefined();
    const bytes = Buffer.from(encrypted.slice(3), 'base64url');
    for (const position of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(decryptText(key, `v1.${changed.toString('base64url')}`, 'row 1')).toBeUndefined();
    }
    for (const nonsense of ['', 'v1.', 'v1.AAAA', encrypted.slice(3)])
      expect(decryptText(key, nonsense, 'row 1')).toBeUndefined();
  });
});
