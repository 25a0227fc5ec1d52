import { describe, expect, it } from 'vitest';
import { actOn } from './act-on.ts';

const own = '0199c0de-0000-7000-8000-00000000000a';
const other = '0199c0de-0000-7000-8000-00000000000b';

describe('who may act on a quota', () => {
  it('lets anyone act on their own, however the id is written', () => {
    expect(actOn({ userId: own, role: 'user' }, own)).toBe(own);
    expect(actOn({ userId: own, role: 'user' }, own.toUpperCase())).toBe(own);
  });

  it('lets an administrator act on another', () => {
    expect(actOn({ userId: own, role: 'admin' }, other)).toBe(other);
  });

  it.each([other, 'nobody', '../../x'])(
    'refuses a user who asks for %s, without telling whether it exists',
    (id) => {
      expect(() => actOn({ userId: own, role: 'user' }, id)).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }),
      );
    },
  );

  it.each(['nobody', `${other}x`, `{${other}}`, other.replaceAll('-', ''), ' ', '\0'])(
    'tells an administrator that %j is no user',
    (id) => {
      expect(() => actOn({ userId: own, role: 'admin' }, id)).toThrow(
        expect.objectContaining({ code: 'USER_NOT_FOUND' }),
      );
    },
  );
});
