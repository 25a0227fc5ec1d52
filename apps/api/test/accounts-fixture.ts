import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type LightMyRequestResponse } from 'fastify';
import { openTestDatabase } from '../../../scripts/testing/test-database.ts';
import { createPasswords } from '../src/accounts/passwords.ts';
import { type AccountsRoutesDeps, accountsRoutes } from '../src/accounts/routes.ts';
import { createSigningKeys } from '../src/accounts/signing-keys.ts';
import { createAccessTokens, createRefreshTokens } from '../src/accounts/tokens.ts';
import { answerErrors } from '../src/http/answer-errors.ts';
import { createVerifyAccessToken } from '../src/http/authenticate.ts';
import { NO_THROTTLES } from '../src/http/throttles.ts';

export const SECRET_KEY = 'a secret of the tests, thirty-two characters';
export const PUBLIC_URL = 'http://127.0.0.1:3000';
export const PASSWORD = 'correct horse battery';

/** What all account tests want to know of a response. */
export interface Answer {
  statusCode: number;
  message: string;
  errors: { field: string | null; code: string; message: string }[] | null;
  accessToken?: string | null;
  refreshToken?: string | null;
  user?: { id: string; email: string; emailVerified: boolean } | null;
}

const FIELDS = 'statusCode message errors { field code message }';
const LOGIN_FIELDS = `${FIELDS} accessToken refreshToken user { id email emailVerified }`;

export type AccountsClient = ReturnType<typeof createClient>;
export type AccountsFixture = Awaited<ReturnType<typeof openAccounts>>;

/** The accounts' routes on a database of their own, with cheap hashes. */
export async function openAccounts() {
  const database = await openTestDatabase();
  const lines: string[] = [];
  const logger = createLogger({
    name: 'test',
    level: 'trace',
    destination: { write: (line: string) => lines.push(line) },
  });
  const deps = accountsDeps(database.db, logger);
  const apps: FastifyInstance[] = [];

  /** An app with other settings, on the same database. */
  const start = async (changes: Partial<AccountsRoutesDeps> = {}, trustProxy = true) => {
    const app: FastifyInstance = Fastify({ loggerInstance: logger as FastifyBaseLogger, trustProxy });
    answerErrors(app);
    await app.register(accountsRoutes, { ...deps, ...changes });
    apps.push(app);
    return createClient(app);
  };

  return {
    db: database.db,
    deps,
    lines,
    logger,
    start,
    close: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await database.close();
    },
  };
}

function accountsDeps(
  db: AccountsRoutesDeps['db'],
  logger: ReturnType<typeof createLogger>,
): AccountsRoutesDeps {
  const signingKeys = createSigningKeys({ db, secretKey: SECRET_KEY, logger });
  const accessTokens = createAccessTokens({ signingKeys, issuer: PUBLIC_URL });
  return {
    db,
    signingKeys,
    accessTokens,
    verifyAccessToken: createVerifyAccessToken(accessTokens),
    refreshTokens: createRefreshTokens(SECRET_KEY),
    secretKey: SECRET_KEY,
    passwords: createPasswords({ cost: 4, blocklist: true }),
    throttles: NO_THROTTLES,
    signupVerification: 'optional',
    defaultMaxQuotaBytes: 1_000_000,
    introspection: true,
    publicUrl: PUBLIC_URL,
    corsOrigins: ['https://app.example.org'],
    relayKick: () => undefined,
    settleMs: 0,
  };
}

function createClient(app: FastifyInstance) {
  const post = (
    query: string,
    variables?: object,
    headers: Record<string, string> = {},
  ): Promise<LightMyRequestResponse> =>
    app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify({ query, variables }),
    });

  const ask = async (field: string, query: string, variables?: object, headers?: Record<string, string>) => {
    const response = await post(query, variables, headers);
    const body = response.json();
    if (body.data === undefined) throw new Error(response.body);
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    const answer: Answer = body.data[field];
    return { answer, response };
  };

  return {
    app,
    post,
    signUp: (params: object, headers?: Record<string, string>) =>
      ask(
        'basicAuthSignUp',
        `mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { ${FIELDS} user { id email emailVerified } } }`,
        { params },
        headers,
      ),
    verify: (token: string) =>
      ask(
        'verifySignupToken',
        `mutation ($params: VerifySignupTokenInput!) { verifySignupToken(params: $params) { ${FIELDS} } }`,
        { params: { token } },
      ),
    logIn: (email: string, password = PASSWORD, headers?: Record<string, string>) =>
      ask(
        'login',
        `mutation ($params: LoginInput!) { login(params: $params) { ${LOGIN_FIELDS} } }`,
        { params: { email, password } },
        headers,
      ),
    refresh: (headers: Record<string, string>) =>
      ask('updateToken', `{ updateToken { ${LOGIN_FIELDS} } }`, undefined, headers),
    mutate: (call: string, accessToken?: string) =>
      ask(
        call.split('(')[0] ?? call,
        `mutation { ${call} { ${FIELDS} } }`,
        undefined,
        accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` },
      ),
    users: async (accessToken?: string) => {
      const headers = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` };
      const response = await post('{ users { id email role } }', undefined, headers);
      return response.json();
    },
  };
}
