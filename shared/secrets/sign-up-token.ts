import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey } from './derive-key.ts';

/** The parts of a `sign_ups` row that its token vouches for. */
export interface SignUpRow {
  readonly id: string;
  readonly user_id: string;
  readonly expires_at: Date;
}

const SHAPE = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{22})$/;
/** Half of the HMAC, as RFC 2104 allows: short enough to be copied from a mail by hand. */
const MAC_BYTES = 16;

/** The single-use token that verifies a sign-up: `<id>.<HMAC of the row>`. It is derived, and stored nowhere. */
export function signUpToken(secretKey: string, row: SignUpRow): string {
  const id = Buffer.from(row.id.replaceAll('-', ''), 'hex');
  return `${id.toString('base64url')}.${mac(secretKey, row).toString('base64url')}`;
}

/** The id of the row a token claims to be for, or undefined when it does not have the shape of a token. */
export function signUpIdOf(token: string): string | undefined {
  const id = SHAPE.exec(token)?.[1];
  if (id === undefined) return undefined;
  const hex = Buffer.from(id, 'base64url').toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Whether the token is the row's, compared in constant time. */
export function isSignUpTokenOf(secretKey: string, row: SignUpRow, token: string): boolean {
  const given = Buffer.from(SHAPE.exec(token)?.[2] ?? '', 'base64url');
  const expected = mac(secretKey, row);
  return signUpIdOf(token) === row.id && given.length === MAC_BYTES && timingSafeEqual(given, expected);
}

function mac(secretKey: string, row: SignUpRow): Buffer {
  return createHmac('sha256', deriveKey(secretKey, 'sign-up-tokens'))
    .update(`${row.id}\n${row.user_id}\n${row.expires_at.toISOString()}`)
    .digest()
    .subarray(0, MAC_BYTES);
}
