import { hkdfSync } from 'node:crypto';

/** What a key derived from SECRET_KEY is for. Changing a purpose's name makes all that it protected worthless. */
export type KeyPurpose = 'signing-keys' | 'refresh-tokens' | 'sign-up-tokens';

/**
 * A 256-bit key for one purpose, derived from SECRET_KEY by HKDF (RFC 5869), so that what one part shows or leaks
 * tells nothing about another's key.
 */
export function deriveKey(secretKey: string, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', `stowage/${purpose}`, 32));
}
