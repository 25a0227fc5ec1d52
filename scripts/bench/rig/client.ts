import { randomBytes } from 'node:crypto';
import { createClient } from '../../smoke/client.ts';
import type { UploadBody } from './upload-body.ts';

export interface BenchUser {
  readonly id: string;
  /** Headers that say who it is. */
  readonly headers: { readonly authorization: string };
}

/** What measurements ask of a running Stowage, beside the load itself. */
export interface BenchClient {
  /** The first user. */
  readonly user: BenchUser;
  newUser(): Promise<BenchUser>;
  /** Returns the stored name. */
  upload(body: UploadBody, user?: BenchUser): Promise<string>;
}

const SIGN_UP = `mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }`;
const LOG_IN = `mutation ($params: LoginInput!) { login(params: $params) { accessToken user { id } } }`;

export async function createBenchClient(url: string, email: string, password: string): Promise<BenchClient> {
  const { graphql } = createClient(url);

  async function logIn(params: { email: string; password: string }): Promise<BenchUser> {
    type Answer = { login: { accessToken: string | null; user: { id: string } | null } };
    const { login } = await graphql<Answer>(LOG_IN, { params });
    if (login.accessToken === null || login.user === null) throw new Error('the login failed');
    return { id: login.user.id, headers: { authorization: `Bearer ${login.accessToken}` } };
  }

  const first = await logIn({ email, password });
  return {
    user: first,
    async newUser() {
      const name = randomBytes(8).toString('hex');
      const params = { email: `${name}@example.com`, password: name };
      await graphql(SIGN_UP, { params });
      return await logIn(params);
    },
    async upload({ contentType, body }, user = first) {
      const response = await fetch(`${url}/`, {
        method: 'POST',
        headers: { ...user.headers, 'content-type': contentType },
        body,
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`the upload was answered ${response.status}: ${text}`);
      return text;
    },
  };
}
