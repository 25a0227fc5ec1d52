import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey } from './derive-key.ts';

/** The parts of a `sign_ups` row that its token vouches for. */
export interface SignUpRow {
  readonly id: string;
  readonly user_id: string;
  readonly expires_at: Date;
}

const SHAPE = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([A-Za-z0-9_-]{43})$/;

/** The single-use token that verifies a sign-up: `<id>.<HMAC of the row>`. It is derived, and stored nowhere. */
export function signUpToken(secretKey: string, row: SignUpRow): string {
  return `${row.id}.${mac(secretKey, row).toString('base64url')}`;
}

/** The id of the row a token claims to be for, or undefined when it does not have the shape of a token. */
export function signUpIdOf(token: string): string | undefined {
  return SHAPE.exec(token)?.[1];
}

/** Whether the token is the row's, compared in constant time. */
export function isSignUpTokenOf(secretKey: string, row: SignUpRow, token: string): boolean {
  const claimed = SHAPE.exec(token);
  if (claimed?.[1] !== row.id) return false;
  const given = Buffer.from(claimed[2] ?? '', 'base64url');
  const expected = mac(secretKey, row);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function mac(secretKey: string, row: SignUpRow): Buffer {
  return createHmac('sha256', deriveKey(secretKey, 'sign-up-tokens'))
    .update(`${row.id}\n${row.user_id}\n${row.expires_at.toISOString()}`)
    .digest();
}
