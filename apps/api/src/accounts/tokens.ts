import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { deriveKey } from '@stowage/shared/secrets/derive-key.ts';
import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import type { SigningKeys } from './signing-keys.ts';

/** Whom an access token speaks for. Whether the session still lives is for the database to say. */
export interface Principal {
  readonly userId: string;
  readonly sessionId: string;
}

const ACCESS_TOKEN_SECONDS = 15 * 60;
const TOLERANCE_SECONDS = 5;
const TYPE = 'at+jwt';
const AUDIENCE = 'stowage';
/** Ours are about 400 characters long. */
const MAX_TOKEN_LENGTH = 2_048;
const CACHED_TOKENS = 10_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export interface AccessTokens {
  /** A new access token of the session, good for 15 minutes. */
  issue(principal: Principal): Promise<string>;
  /**
   * Checks signature, issuer, audience, type and times; the database is asked only for an unknown key.
   * @throws {AppError} UNAUTHENTICATED
   */
  verify(token: string): Promise<Principal>;
}

export interface AccessTokensDeps {
  readonly signingKeys: SigningKeys;
  /** PUBLIC_URL. */
  readonly issuer: string;
}

/** Access tokens: JWTs (RFC 9068) signed with EdDSA. */
export function createAccessTokens({ signingKeys, issuer }: AccessTokensDeps): AccessTokens {
  // A verification costs 0.1 ms of CPU, which a client that sends many requests would pay for each of them.
  const verified = new LRUCache<string, Principal>({ max: CACHED_TOKENS });

  const verifyAnew = async (token: string): Promise<Principal> => {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = kid === undefined ? undefined : await signingKeys.find(kid);
        if (key === undefined) throw new errors.JWKSNoMatchingKey();
        return key;
      },
      {
        algorithms: ['EdDSA'],
        typ: TYPE,
        issuer,
        audience: AUDIENCE,
        clockTolerance: TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'sid', 'iat', 'exp'],
      },
    );
    const { sub, sid, exp } = payload;
    if (
      sub === undefined ||
      exp === undefined ||
      typeof sid !== 'string' ||
      !UUID.test(sub) ||
      !UUID.test(sid)
    )
      throw new errors.JWTInvalid('sub and sid are UUIDs');
    const principal = { userId: sub, sessionId: sid };
    const ttl = (exp + TOLERANCE_SECONDS) * 1_000 - Date.now();
    if (ttl > 0) verified.set(token, principal, { ttl });
    return principal;
  };

  return {
    async issue({ userId, sessionId }) {
      const { kid, key } = await signingKeys.current();
      return new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: TYPE })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject(userId)
        .setJti(crypto.randomUUID())
        .setIssuedAt()
        .setExpirationTime(`${ACCESS_TOKEN_SECONDS}s`)
        .sign(key);
    },
    async verify(token) {
      const known = verified.get(token);
      if (known !== undefined) return known;
      if (token.length > MAX_TOKEN_LENGTH) throw unauthenticated('The access token is malformed.');
      try {
        return await verifyAnew(token);
      } catch (cause) {
        if (cause instanceof errors.JWTExpired) throw unauthenticated('The access token has expired.', cause);
        if (cause instanceof errors.JOSEError) throw unauthenticated('The access token is not valid.', cause);
        throw cause;
      }
    },
  };
}

/** One state of a session's refresh token: the counter moves on at each use. */
export interface RefreshClaim {
  readonly sessionId: string;
  readonly counter: number;
}

export interface RefreshTokens {
  issue(claim: RefreshClaim): string;
  /** What the token claims, or undefined when we did not issue it. The database is not asked. */
  read(token: string): RefreshClaim | undefined;
}

const REFRESH_SHAPE = /^([0-9a-f-]{36})\.([1-9]\d{0,8})\.([A-Za-z0-9_-]{43})$/;

/** Whether the text looks like a refresh token, genuine or not. */
export function looksLikeRefreshToken(token: string): boolean {
  return REFRESH_SHAPE.test(token);
}

/** Refresh tokens: `sid.n.HMAC(sid.n)`. */
export function createRefreshTokens(secretKey: string): RefreshTokens {
  const key = deriveKey(secretKey, 'refresh-tokens');
  const mac = (text: string) => createHmac('sha256', key).update(text).digest();
  return {
    issue({ sessionId, counter }) {
      const text = `${sessionId}.${counter}`;
      return `${text}.${mac(text).toString('base64url')}`;
    },
    read(token) {
      const [, sessionId, counter, given] = REFRESH_SHAPE.exec(token) ?? [];
      if (sessionId === undefined || counter === undefined || given === undefined) return undefined;
      const expected = mac(`${sessionId}.${counter}`);
      if (!UUID.test(sessionId) || !timingSafeEqual(Buffer.from(given, 'base64url'), expected))
        return undefined;
      return { sessionId, counter: Number(counter) };
    },
  };
}

function unauthenticated(message: string, cause?: unknown): AppError {
  return new AppError('UNAUTHENTICATED', message, { cause });
}
