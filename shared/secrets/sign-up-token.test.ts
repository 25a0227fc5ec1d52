import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSignUpTokenOf, signUpIdOf, signUpToken } from './sign-up-token.ts';

const row = { id: randomUUID(), user_id: randomUUID(), expires_at: new Date('2026-11-21T09:00:00.123Z') };

describe('the token of a sign-up', () => {
  const token = signUpToken('a secret', row);

  it('is short, safe in links, and names its row', () => {
    expect(token).toMatch(/^[\w-]{22}\.[\w-]{22}$/);
    expect(signUpIdOf(token)).toBe(row.id);
    expect(isSignUpTokenOf('a secret', row, token)).toBe(true);
  });

  it('is of this row and this secret only', () => {
    expect(isSignUpTokenOf('another secret', row, token)).toBe(false);
    for (const other of [
      { ...row, id: randomUUID() },
      { ...row, user_id: randomUUID() },
      { ...row, expires_at: new Date(row.expires_at.getTime() + 1) },
    ])
      expect(isSignUpTokenOf('a secret', other, token)).toBe(false);
    const [id] = token.split('.');
    expect(isSignUpTokenOf('a secret', row, `${id}.${'A'.repeat(22)}`)).toBe(false);
  });

  it.each(['', '.', 'nonsense', `${randomUUID()}.x`, `${'A'.repeat(22)}.${'A'.repeat(23)}`])(
    'does not look like %j',
    (text) => {
      expect(signUpIdOf(text)).toBeUndefined();
      expect(isSignUpTokenOf('a secret', row, text)).toBe(false);
    },
  );
});
