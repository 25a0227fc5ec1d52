import { describe, expect, it } from 'vitest';
import { createPasswords } from './passwords.ts';

const passwords = createPasswords({ cost: 4, blocklist: true });

describe('the rules for passwords', () => {
  it.each([
    ['12345678', 'PASSWORD_TOO_COMMON'],
    ['PassWord123', 'PASSWORD_TOO_COMMON'],
    ['seven c', 'PASSWORD_TOO_SHORT'],
    ['😀'.repeat(7), 'PASSWORD_TOO_SHORT'],
    ['x'.repeat(73), 'PASSWORD_TOO_LONG'],
    ['😀'.repeat(19), 'PASSWORD_TOO_LONG'],
    ['malformed\ud800', 'PASSWORD_MALFORMED'],
    ['eight ch', undefined],
    ['😀'.repeat(8), undefined],
    ['x'.repeat(72), undefined],
  ])('judge %j: %s', (password, code) => {
    expect(passwords.fault(password)?.code).toBe(code);
  });

  it('count after NFKC', () => {
    // A ligature of three letters.
    expect(passwords.fault('ﬃx12')?.code).toBe('PASSWORD_TOO_SHORT');
    expect(passwords.fault('ﬃxy123')).toBeUndefined();
  });

  it('do not refuse the commonest without the blocklist', () => {
    expect(createPasswords({ cost: 4, blocklist: false }).fault('12345678')).toBeUndefined();
  });
});

describe('matches', () => {
  it('is true for the right password only', async () => {
    const hash = await passwords.hash('a password');
    expect(await passwords.matches('a password', hash)).toBe(true);
    expect(await passwords.matches('a passwore', hash)).toBe(false);
    expect(await passwords.matches('a password', undefined)).toBe(false);
    expect(await passwords.matches('a password', null)).toBe(false);
  });

  it('sees what comes after a NUL, and nothing in what bcrypt would cut', async () => {
    const hash = await passwords.hash('before\0after');
    expect(await passwords.matches('before\0other', hash)).toBe(false);
    const long = await passwords.hash('x'.repeat(72));
    expect(await passwords.matches('x'.repeat(73), long)).toBe(false);
  });

  it('does not try a password that is not admitted', async () => {
    const hash = await passwords.hash('a password');
    const refuse = async () => {
      throw new Error('not now');
    };
    await expect(passwords.matches('a password', hash, refuse)).rejects.toThrow('not now');
  });

  it('runs as many at once as it is told, and refuses when too many wait', async () => {
    const narrow = createPasswords({ cost: 4, blocklist: false, parallel: 2 });
    let running = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    const admit = async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
    };
    const waiting = Array.from({ length: 258 }, () => narrow.matches('a password', undefined, admit));
    await new Promise(setImmediate);
    await expect(narrow.matches('a password', undefined)).rejects.toMatchObject({ code: 'OVERLOADED' });
    gate.resolve();
    await Promise.all(waiting);
    expect(most).toBe(2);
  });
});
