import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './http.ts';

interface LoginAnswer {
  readonly data?: {
    readonly login?: { readonly accessToken: string | null; readonly user: { readonly id: string } | null };
  };
}

/** Access tokens live for 15 minutes. */
const TOKEN_AGE_MS = 8 * 60_000;
const DEADLINE_MS = 60_000;

/** A user's way in: signs up once, and logs in again before the token is too old. */
export class Account {
  readonly #email: string;
  readonly #password: string;
  readonly #baseUrls: readonly string[];
  #token = '';
  #since = 0;
  #id = '';
  #loggingIn: Promise<void> | undefined;

  constructor(baseUrls: readonly string[], email: string, password: string) {
    this.#baseUrls = baseUrls;
    this.#email = email;
    this.#password = password;
  }

  get id(): string {
    return this.#id;
  }

  async signUp(): Promise<void> {
    await this.#graphql(
      'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }',
    );
  }

  async authorization(): Promise<string> {
    if (performance.now() - this.#since > TOKEN_AGE_MS || this.#token === '') {
      this.#loggingIn ??= this.#logIn().finally(() => {
        this.#loggingIn = undefined;
      });
      await this.#loggingIn;
    }
    return `Bearer ${this.#token}`;
  }

  async #logIn(): Promise<void> {
    const query =
      'mutation ($params: LoginInput!) { login(params: $params) { statusCode accessToken user { id } } }';
    // The schema of the API; whatever does not fit it shows as a missing token.
    const answer = (await this.#graphql(query)) as LoginAnswer;
    const { accessToken, user } = answer.data?.login ?? {};
    if (!accessToken || !user) throw new Error(`${this.#email} could not log in: ${JSON.stringify(answer)}`);
    this.#token = accessToken;
    this.#id = user.id;
    this.#since = performance.now();
  }

  /** Until it works: an old token is good for some minutes more. */
  async #graphql(query: string): Promise<unknown> {
    const variables = { params: { email: this.#email, password: this.#password } };
    const deadline = Date.now() + DEADLINE_MS;
    for (let index = 0; ; index += 1) {
      const url = `${this.#baseUrls[index % this.#baseUrls.length]}/graphql`;
      const headers = { 'content-type': 'application/json' };
      const reply = await ask({ method: 'POST', url, headers, body: JSON.stringify({ query, variables }) });
      if (reply.kind === 'reply' && reply.status === 200) {
        const answer: unknown = JSON.parse(reply.body.toString());
        if (
          !JSON.stringify(answer).includes('"statusCode":5') &&
          !JSON.stringify(answer).includes('"errors":[{"message"')
        )
          return answer;
      }
      if (Date.now() > deadline)
        throw new Error(
          `GraphQL gave no answer: ${reply.kind === 'lost' ? reply.why : reply.body.toString()}`,
        );
      await sleep(200);
    }
  }
}
