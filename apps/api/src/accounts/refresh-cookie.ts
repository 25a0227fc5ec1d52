import type { FastifyReply, FastifyRequest } from 'fastify';

const NAME = 'refresh_token';
/** A session's longest life. When the token in it expires earlier, the server says so. */
const MAX_AGE_SECONDS = 30 * 24 * 60 * 60;

export interface RefreshCookie {
  read(request: FastifyRequest): string | undefined;
  set(reply: FastifyReply, refreshToken: string): void;
  clear(reply: FastifyReply): void;
}

/** The cookie that carries a browser's refresh token: out of reach for scripts, and sent to GraphQL only. */
export function createRefreshCookie(publicUrl: string): RefreshCookie {
  const url = new URL(publicUrl);
  const path = `${url.pathname.replace(/\/$/, '')}/graphql`;
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${url.protocol === 'https:' ? '; Secure' : ''}`;
  return {
    read(request) {
      for (const pair of (request.headers.cookie ?? '').split(';')) {
        const [name, value] = pair.trim().split('=', 2);
        if (name === NAME && value) return value;
      }
      return undefined;
    },
    set(reply, refreshToken) {
      void reply.header('set-cookie', `${NAME}=${refreshToken}; Max-Age=${MAX_AGE_SECONDS}; ${attributes}`);
    },
    clear(reply) {
      void reply.header('set-cookie', `${NAME}=; Max-Age=0; ${attributes}`);
    },
  };
}
