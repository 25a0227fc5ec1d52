import { randomUUID } from 'node:crypto';
import type { Db } from '@stowage/shared/database/open-database.ts';
import type { Logger } from '@stowage/shared/logging/create-logger.ts';
import { deriveKey } from '@stowage/shared/secrets/derive-key.ts';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { sql } from 'kysely';
import { decryptText, encryptText } from './encrypt-text.ts';

/** A signing key as it is used. Times are Unix milliseconds. */
export interface StoredKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;
  readonly signsFrom: number;
  readonly signsUntil: number;
  readonly publishedUntil: number;
}

export interface KeyStoreDeps {
  readonly db: Db;
  readonly secretKey: string;
  readonly logger: Logger;
}

export interface RotationTimings {
  readonly signsFor: number;
  readonly publishAhead: number;
  readonly keepAfter: number;
}

export interface KeyStore {
  /** All keys that are still published, oldest first. */
  load(): Promise<StoredKey[]>;
  /** Makes the first or the next key if it is time, drops the dead ones, and returns the rest. */
  rotate(timings: RotationTimings, now: number): Promise<StoredKey[]>;
}

/** Signing keys in the database, their private halves encrypted with SECRET_KEY. */
export function createKeyStore({ db, secretKey, logger }: KeyStoreDeps): KeyStore {
  const encryptionKey = deriveKey(secretKey, 'signing-keys');
  const opened = new Map<string, StoredKey>();

  const load = async (from: Db = db) => {
    const rows = await from.selectFrom('signing_keys').selectAll().orderBy('signs_from').execute();
    const keys: StoredKey[] = [];
    for (const row of rows) {
      const known = opened.get(row.kid);
      if (known !== undefined) {
        keys.push(known);
        continue;
      }
      // A key of another SECRET_KEY is neither used nor trusted: whoever changed the secret may have done so
      // because the old one leaked, and with it the private keys.
      const privateJwk = decryptText(encryptionKey, row.private_key_encrypted, row.kid);
      if (privateJwk === undefined) {
        logger.warn({ kid: row.kid }, 'signing key was encrypted with another SECRET_KEY: ignored');
        continue;
      }
      const publicJwk: JWK = row.public_jwk;
      const key = {
        kid: row.kid,
        publicJwk,
        publicKey: await importEd25519(publicJwk),
        privateKey: await importEd25519(JSON.parse(privateJwk)),
        signsFrom: row.signs_from.getTime(),
        signsUntil: row.signs_until.getTime(),
        publishedUntil: row.published_until.getTime(),
      };
      opened.set(row.kid, key);
      keys.push(key);
    }
    for (const kid of opened.keys()) if (!rows.some((row) => row.kid === kid)) opened.delete(kid);
    return keys;
  };

  return {
    load: () => load(),
    rotate: (timings, now) =>
      db.transaction().execute(async (trx) => {
        // One process makes the next key; those that wait here find it made.
        await sql`SELECT pg_advisory_xact_lock(hashtextextended('stowage/signing-keys', 0))`.execute(trx);
        await trx.deleteFrom('signing_keys').where('published_until', '<', new Date(now)).execute();
        const keys = await load(trx);
        const lastMoment = Math.max(now, ...keys.map((key) => key.signsUntil));
        if (lastMoment - now >= timings.publishAhead) return keys;
        await insertKey(trx, encryptionKey, lastMoment, timings);
        return load(trx);
      }),
  };
}

async function insertKey(trx: Db, encryptionKey: Buffer, signsFrom: number, timings: RotationTimings) {
  const kid = randomUUID();
  const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const publicJwk = { ...(await exportJWK(pair.publicKey)), kid, alg: 'EdDSA', use: 'sig' };
  const signsUntil = signsFrom + timings.signsFor;
  await trx
    .insertInto('signing_keys')
    .values({
      kid,
      public_jwk: JSON.stringify(publicJwk),
      private_key_encrypted: encryptText(
        encryptionKey,
        JSON.stringify(await exportJWK(pair.privateKey)),
        kid,
      ),
      signs_from: new Date(signsFrom),
      signs_until: new Date(signsUntil),
      published_until: new Date(signsUntil + timings.keepAfter),
    })
    .execute();
}

async function importEd25519(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, 'EdDSA');
  if (key instanceof Uint8Array) throw new TypeError('an Ed25519 JWK was expected');
  return key;
}
