import { describe, expect, it } from 'vitest';
import { findRefreshToken, type TokenCarriers } from './refresh-token-source.ts';
import { createRefreshTokens } from './tokens.ts';

const token = createRefreshTokens('a secret').issue({ sessionId: crypto.randomUUID(), counter: 3 });
const access = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2ln';
const nothing = { refreshHeader: undefined, authorization: undefined, cookie: undefined, origin: undefined };
const find = (carriers: Partial<TokenCarriers>) =>
  findRefreshToken({ ...nothing, ...carriers }, new Set(['https://files.example.org']));

describe('findRefreshToken', () => {
  it('prefers its own header, then the bearer token, then the cookie', () => {
    const authorization = `Bearer ${token}`;
    expect(find({ refreshHeader: 'header', authorization, cookie: 'cookie' })).toBe('header');
    expect(find({ authorization, cookie: 'cookie' })).toBe(token);
    expect(find({ cookie: 'cookie' })).toBe('cookie');
  });

  it('does not fall back to the cookie for a bearer token that is neither', () => {
    expect(find({ authorization: 'Bearer nonsense', cookie: 'cookie' })).toBe('nonsense');
  });

  it('skips an access token when there is a cookie, and names it when there is none', () => {
    expect(find({ authorization: `Bearer ${access}`, cookie: 'cookie' })).toBe('cookie');
    expect(() => find({ authorization: `Bearer ${access}` })).toThrow(/access token/);
    expect(() => find({})).toThrow(/refresh token is required/);
  });

  it('looks at the origin for the cookie only', () => {
    const origin = 'https://evil.example.org';
    expect(() => find({ cookie: 'cookie', origin })).toThrow(/origin/);
    expect(find({ cookie: 'cookie', origin: 'https://files.example.org' })).toBe('cookie');
    expect(find({ refreshHeader: 'header', cookie: 'cookie', origin })).toBe('header');
  });
});
