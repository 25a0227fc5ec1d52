import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Tally } from '../tally.ts';
import { ask } from '../users/http.ts';

const PAUSE_MS = { least: 500, most: 3_000 };
const QUERY = 'mutation ($params: BasicAuthSignupInput!) { basicAuthSignUp(params: $params) { statusCode } }';

/** People who only sign up. Each acknowledged sign-up owes them a mail. */
export class Visitors {
  readonly #baseUrls: readonly string[];
  readonly #tally: Tally;
  readonly #owed = new Set<string>();
  #count = 0;

  constructor(baseUrls: readonly string[], tally: Tally) {
    this.#baseUrls = baseUrls;
    this.#tally = tally;
  }

  async come(random: Random, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#signUp(random);
      await sleep(random.int(PAUSE_MS.least, PAUSE_MS.most), undefined, { signal: stop }).catch(
        () => undefined,
      );
    }
  }

  async #signUp(random: Random): Promise<void> {
    this.#count += 1;
    const email = `visitor-${this.#count}@example.com`;
    const variables = { params: { email, password: 'the password of a visitor' } };
    const reply = await ask({
      method: 'POST',
      url: `${random.pick(this.#baseUrls)}/graphql`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: QUERY, variables }),
    });
    const acknowledged = reply.kind === 'reply' && reply.body.toString().includes('"statusCode":201');
    this.#tally.count('sign-ups', acknowledged ? 'acknowledged' : 'without an answer');
    if (acknowledged) this.#owed.add(email);
  }

  /** Looks for the mails that are owed, in the folder where the mail worker leaves them. */
  async check(dataFolder: string): Promise<void> {
    if (this.#owed.size === 0) return;
    const folder = join(dataFolder, 'mail');
    const names = (await readdir(folder)).filter((name) => name.endsWith('.eml'));
    const mails = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    const received = new Set(
      mails.flatMap((mail) => /^To: .*?([\w.-]+@example\.com)/m.exec(mail)?.[1] ?? []),
    );
    for (const email of this.#owed) {
      if (received.has(email)) this.#tally.count('sign-ups', 'mails found');
      else this.#tally.violation(`${email} signed up, and got no mail`);
    }
    this.#owed.clear();
  }
}
