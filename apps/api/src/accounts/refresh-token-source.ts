import { AppError } from '@stowage/shared/errors/app-error.ts';
import { looksLikeRefreshToken } from './tokens.ts';

/** The parts of a request that may carry a refresh token. */
export interface TokenCarriers {
  readonly refreshHeader: string | undefined;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly origin: string | undefined;
}

/**
 * The refresh token of a request: the header of its own, else `Authorization: Bearer`, else the cookie. Clients send
 * their access token with everything, so one in `Authorization` is skipped when there is a cookie.
 *
 * @param allowedOrigins pages whose browser may use the cookie
 * @throws {AppError} UNAUTHENTICATED when there is none, FORBIDDEN for a cookie from a foreign page
 */
export function findRefreshToken(carriers: TokenCarriers, allowedOrigins: ReadonlySet<string>): string {
  const { refreshHeader, authorization, cookie, origin } = carriers;
  if (refreshHeader) return refreshHeader;
  const bearer = authorization && (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? authorization);
  if (bearer && !looksLikeAccessToken(bearer)) return bearer;
  if (cookie) {
    if (origin !== undefined && !allowedOrigins.has(origin))
      throw new AppError('FORBIDDEN', 'The refresh cookie is not accepted from this origin.');
    return cookie;
  }
  throw new AppError(
    'UNAUTHENTICATED',
    bearer
      ? 'This is an access token. Send the refresh token, in X-Refresh-Token or as the bearer token.'
      : 'A refresh token is required, in X-Refresh-Token, as the bearer token or in the refresh_token cookie.',
  );
}

/** JWTs begin with `{"` in base64; refresh tokens with a UUID. */
function looksLikeAccessToken(token: string): boolean {
  return token.startsWith('eyJ') && !looksLikeRefreshToken(token);
}
