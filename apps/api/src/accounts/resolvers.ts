import { type Caller, requireSession, type VerifyAccessToken } from '../http/authenticate.ts';
import { plainAddress } from '../http/client-ip.ts';
import { type DeleteUserDeps, deleteUser } from './delete-user.ts';
import type { GraphqlContext } from './graphql-context.ts';
import { listUsers } from './list-users.ts';
import { type LoggedIn, type LogInDeps, logIn } from './log-in.ts';
import { logOut, logOutEverywhere } from './log-out.ts';
import { failed, type Outcome, retryAfter, succeeded } from './outcomes.ts';
import type { RefreshCookie } from './refresh-cookie.ts';
import { findRefreshToken } from './refresh-token-source.ts';
import { type RefreshDeps, refreshTokens } from './refresh-tokens.ts';
import { type SignUpDeps, signUp } from './sign-up.ts';
import type { SignUpInput } from './sign-up-input.ts';
import { suspendUser } from './suspend-user.ts';
import type { UserRecord } from './user-record.ts';
import { type VerifySignUpDeps, verifySignUp } from './verify-sign-up.ts';

export type ResolverDeps = SignUpDeps &
  VerifySignUpDeps &
  LogInDeps &
  RefreshDeps &
  DeleteUserDeps & {
    readonly verifyAccessToken: VerifyAccessToken;
    readonly refreshCookie: RefreshCookie;
    /** Origins whose pages may refresh by cookie. */
    readonly allowedOrigins: ReadonlySet<string>;
  };

type Params<T> = { readonly params: T };

/** GraphQL in, one operation, GraphQL out. */
export function createResolvers(deps: ResolverDeps) {
  const { db, refreshCookie } = deps;
  const caller = async ({ request }: GraphqlContext): Promise<Caller> =>
    requireSession(db, await deps.verifyAccessToken(request.headers.authorization));

  return {
    Query: {
      users: async (_: unknown, __: unknown, context: GraphqlContext): Promise<UserRecord[]> =>
        listUsers(db, await caller(context)),

      updateToken: (_: unknown, __: unknown, context: GraphqlContext) =>
        loginResponse(context, async () => {
          const { request, reply } = context;
          const cookie = refreshCookie.read(request);
          const token = findRefreshToken(
            {
              refreshHeader: singleHeader(request.headers['x-refresh-token']),
              authorization: request.headers.authorization,
              cookie,
              origin: request.headers.origin,
            },
            deps.allowedOrigins,
          );
          const loggedIn = await refreshTokens(deps, token, request.ip);
          // A token that came another way leaves the cookie of another session alone.
          if (cookie !== undefined && sessionOf(cookie) === sessionOf(token))
            refreshCookie.set(reply, loggedIn.refreshToken);
          return { message: 'The tokens are renewed.', loggedIn };
        }),
    },

    Mutation: {
      basicAuthSignUp: (_: unknown, { params }: Params<SignUpInput>, context: GraphqlContext) =>
        respond(
          context,
          async () => {
            const { ip, id } = context.request;
            const user = await signUp(deps, params, { ip: plainAddress(ip), requestId: id });
            const message = user
              ? 'Signed up. A mail with a token to verify the address is on its way.'
              : 'If this address can sign up, a mail with a token to verify it is on its way.';
            return { ...succeeded(message, 201), user: user ?? null };
          },
          { user: null },
        ),

      verifySignupToken: (_: unknown, { params }: Params<{ token: string }>, context: GraphqlContext) =>
        respond(context, async () => {
          await verifySignUp(deps, params.token);
          return succeeded('The address is verified.');
        }),

      login: (_: unknown, { params }: Params<{ email: string; password: string }>, context: GraphqlContext) =>
        loginResponse(context, async () => {
          const { request, reply } = context;
          const client = { ip: plainAddress(request.ip), userAgent: request.headers['user-agent'] };
          const loggedIn = await logIn(deps, params, client);
          refreshCookie.set(reply, loggedIn.refreshToken);
          return { message: 'Logged in.', loggedIn };
        }),

      logout: (_: unknown, __: unknown, context: GraphqlContext) =>
        respond(context, async () => {
          await logOut(db, await caller(context));
          refreshCookie.clear(context.reply);
          return succeeded('Logged out.');
        }),

      logoutEverywhere: (_: unknown, __: unknown, context: GraphqlContext) =>
        respond(context, async () => {
          await logOutEverywhere(db, await caller(context));
          refreshCookie.clear(context.reply);
          return succeeded('All sessions are ended.');
        }),

      suspendUser: (
        _: unknown,
        { params }: Params<{ userId: string; suspended: boolean }>,
        context: GraphqlContext,
      ) =>
        respond(context, async () => {
          await suspendUser(db, await caller(context), params);
          return succeeded(params.suspended ? 'The user is suspended.' : 'The suspension is lifted.');
        }),

      deleteUser: (_: unknown, { params }: Params<{ userId: string }>, context: GraphqlContext) =>
        respond(context, async () => {
          await deleteUser(deps, await caller(context), { ...params, requestId: context.request.id });
          return succeeded('The user is deleted.');
        }),
    },
  };
}

const NOBODY = { accessToken: null, refreshToken: null, user: null };

function loginResponse(
  context: GraphqlContext,
  work: () => Promise<{ message: string; loggedIn: LoggedIn }>,
) {
  return respond(
    context,
    async () => {
      const { message, loggedIn } = await work();
      return { ...succeeded(message), ...loggedIn };
    },
    NOBODY,
  );
}

/** Turns what an operation throws into the response that tells of it. */
async function respond<T extends Outcome, E extends object = Record<never, never>>(
  { reply }: GraphqlContext,
  work: () => Promise<T>,
  emptyFields?: E,
): Promise<T | Outcome | (Outcome & E)> {
  try {
    return await work();
  } catch (error) {
    const seconds = retryAfter(error);
    if (seconds !== undefined) reply.header('retry-after', seconds);
    return emptyFields === undefined ? failed(error) : { ...failed(error), ...emptyFields };
  }
}

function singleHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function sessionOf(refreshToken: string): string | undefined {
  return refreshToken.split('.')[0];
}
