import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, openService, type Person, refusal, type Service } from './service.ts';

let service: Service;
let b: Person;
let a: Person;
let fileOfB: string;

beforeAll(async () => {
  service = await openService({ processes: 2 });
  a = await service.person('a');
  b = await service.person('b');
  fileOfB = await service.store(b, 'what b keeps here');
});
afterAll(() => service?.close());

const json = (person: Person) => ({ ...person.auth, 'content-type': 'application/json' });
const post = (person: Person, path: string, body: object) =>
  fetch(service.url + path, { method: 'POST', headers: json(person), body: JSON.stringify(body) });
const get = (person: Person, path: string, url = service.url) => fetch(url + path, { headers: person.auth });

describe("another user's things", () => {
  /** What A may do to B by REST, and what A is told. `whose` may also name nobody. */
  const attempts: Record<string, (whose: string) => Promise<Response>> = {
    'reading the quota': (whose) => get(a, `/quota?user_id=${whose}`),
    'increasing the quota': (whose) => post(a, '/quota/increase', { user_id: whose, additional_bytes: 1 }),
    'setting the quota': (whose) => post(a, '/quota/set', { user_id: whose, new_quota_bytes: 0 }),
    'setting the limit': (whose) => post(a, '/quota/limit', { user_id: whose, max_quota_bytes: 1 }),
    'listing the files': (whose) => get(a, `/files?user_id=${whose}`),
  };

  it.each(Object.entries(attempts))(
    '%s: 403, and no hint whether there is such a user',
    async (_, attempt) => {
      const answers = [];
      for (const whose of [b.id, b.id.toUpperCase(), randomUUID(), 'nobody', `${b.id}' OR '1'='1`]) {
        const answer = await attempt(encodeURIComponent(whose) === whose ? whose : encodeURIComponent(whose));
        const { request_id: _id, ...body } = await jsonOf(answer);
        answers.push({ status: answer.status, body, length: answer.headers.get('content-length') });
      }
      expect(answers[0]).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      for (const answer of answers) expect(answer).toEqual(answers[0]);
      expect(JSON.stringify(answers)).not.toContain(b.id);
    },
  );

  it('describing and deleting a file: 403, one that nobody has: 404', async () => {
    const unknown = `${'0'.repeat(26)}.txt`;
    const remove = (name: string) => fetch(`${service.url}/${name}`, { method: 'DELETE', headers: a.auth });
    expect(await refusal(await get(a, `/files/${fileOfB}`))).toEqual([403, 'FORBIDDEN']);
    expect(await refusal(await get(a, `/files/${unknown}`))).toEqual([404, 'FILE_NOT_FOUND']);
    expect(await refusal(await remove(fileOfB))).toEqual([403, 'FORBIDDEN']);
    expect(await refusal(await remove(fileOfB.replace('.', '%2e')))).toEqual([403, 'FORBIDDEN']);
    expect(await refusal(await remove(unknown))).toEqual([404, 'FILE_NOT_FOUND']);
    for (const name of [fileOfB.replace('.', '_64.'), fileOfB.replace('.txt', '.jpg')])
      expect(await refusal(await remove(name))).toEqual([404, 'FILE_NOT_FOUND']);
  });

  it('the users of GraphQL: only oneself; suspending and deleting: 403, whoever it is', async () => {
    const { data } = await jsonOf(await service.graphql('{ users { id } }', {}, a.auth));
    expect(data.users).toEqual([{ id: a.id }]);
    for (const userId of [b.id, randomUUID(), 'nobody'])
      for (const mutation of ['suspendUser', 'deleteUser']) {
        const query = `mutation { ${mutation}(params: { userId: "${userId}" }) { statusCode message } }`;
        const answer = (await jsonOf(await service.graphql(query, {}, a.auth))).data[mutation];
        expect(answer).toEqual({ statusCode: 403, message: 'Only an administrator may do this.' });
      }
  });

  it('an Idempotency-Key that somebody else has used gives nothing of theirs', async () => {
    const upload = async (person: Person, text: string) => {
      const body = new FormData();
      body.append('file', new Blob([text]), 'a.txt');
      const headers = { ...person.auth, 'idempotency-key': 'one-for-all' };
      return (await fetch(service.url, { method: 'POST', body, headers })).text();
    };
    const ofB = await upload(b, 'secret of b');
    const ofA = await upload(a, 'mine');
    expect(ofA).not.toBe(ofB);
    expect(await (await fetch(`${service.url}/${ofA}`)).text()).toBe('mine');
    expect(await upload(b, 'again')).toBe(ofB);
  });

  it('and nothing of it had an effect', async () => {
    expect(await jsonOf(await get(b, `/quota?user_id=${b.id}`))).toEqual({
      user_id: b.id,
      current_quota: 'what b keeps here'.length + 'secret of b'.length,
      max_quota: service.settings.defaultMaxQuotaBytes,
    });
    expect(await (await fetch(`${service.url}/${fileOfB}`)).text()).toBe('what b keeps here');
    expect((await jsonOf(await get(b, '/files'))).files).toHaveLength(2);
  });
});

describe('the end of a session', () => {
  /** Every way of using a session, at a process of one's choice. */
  const uses = (person: Person): Record<string, (url: string) => Promise<number>> => ({
    'GET /': async (url) => (await get(person, '/', url)).status,
    'GET /files': async (url) => (await get(person, '/files', url)).status,
    'GET /quota': async (url) => (await get(person, `/quota?user_id=${person.id}`, url)).status,
    'POST /quota/increase': async (url) => {
      const body = JSON.stringify({ user_id: person.id, additional_bytes: 0 });
      const answer = await fetch(`${url}/quota/increase`, { method: 'POST', headers: json(person), body });
      return answer.status;
    },
    'POST /': async (url) => {
      const body = new FormData();
      body.append('file', new Blob(['x']), 'a.txt');
      return (await fetch(url, { method: 'POST', headers: person.auth, body })).status;
    },
    'DELETE /{name}': async (url) => {
      const answer = await fetch(`${url}/${'0'.repeat(26)}.txt`, { method: 'DELETE', headers: person.auth });
      return answer.status === 404 ? 200 : answer.status;
    },
    'the query users': async (url) => {
      const answer = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: json(person),
        body: '{"query":"{ users { id } }"}',
      });
      const { errors } = await jsonOf(answer);
      return errors?.[0]?.extensions.code === 'UNAUTHENTICATED' ? 401 : answer.status;
    },
  });
  const outcomes = async (person: Person, url: string) => {
    const statuses: Record<string, number> = {};
    for (const [use, status] of Object.entries(uses(person))) statuses[use] = await status(url);
    return statuses;
  };
  const all = (status: number) => Object.fromEntries(Object.keys(uses(a)).map((use) => [use, status]));
  const mutate = async (person: Person, mutation: string) => {
    const answer = await service.graphql(`mutation { ${mutation} { statusCode } }`, {}, person.auth);
    return (await jsonOf(answer)).data[mutation.split('(')[0]!].statusCode;
  };

  it.each([
    ['logout', (person: Person) => mutate(person, 'logout')],
    [
      'logoutEverywhere',
      async (person: Person) => mutate(await service.logIn(person.email), 'logoutEverywhere'),
    ],
    [
      'suspendUser',
      async (person: Person) =>
        mutate(await service.administrator(), `suspendUser(params: { userId: "${person.id}" })`),
    ],
    [
      'deleteUser',
      async (person: Person) =>
        mutate(await service.administrator(), `deleteUser(params: { userId: "${person.id}" })`),
    ],
  ])('by %s takes effect on the next request on every process', async (_, end) => {
    const person = await service.person('leaver');
    // Both processes have seen the token, and remember that its signature is right.
    for (const { url } of service.processes) expect(await outcomes(person, url)).toEqual(all(200));
    expect(await end(person)).toBe(200);
    for (const { url } of service.processes) expect(await outcomes(person, url)).toEqual(all(401));
  });

  it('comes with the reuse of an older refresh token, on every process, also after the error', async () => {
    const person = await service.person('reused');
    const refresh = async (token: string, { url } = service.processes[0]!) => {
      const answer = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-refresh-token': token },
        body: '{"query":"{ updateToken { statusCode refreshToken accessToken } }"}',
      });
      return (await jsonOf(answer)).data.updateToken;
    };
    const second = await refresh(person.refreshToken);
    const third = await refresh(second.refreshToken, service.processes[1]);
    expect(third.statusCode).toBe(200);
    expect(await refresh(person.refreshToken, service.processes[1])).toEqual({
      statusCode: 401,
      refreshToken: null,
      accessToken: null,
    });
    for (const { url } of service.processes) expect(await outcomes(person, url)).toEqual(all(401));
    for (const token of [person.refreshToken, second.refreshToken, third.refreshToken])
      for (const process of service.processes) expect((await refresh(token, process)).statusCode).toBe(401);
  });

  it('does not come with 20 refreshes at once on two processes: one rotation, one token', async () => {
    const person = await service.person('tabs');
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const answer = await fetch(`${service.processes[n % 2]?.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-refresh-token': person.refreshToken },
          body: '{"query":"{ updateToken { statusCode refreshToken } }"}',
        });
        return (await jsonOf(answer)).data.updateToken;
      }),
    );
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ refreshToken }) => refreshToken)).size).toBe(1);
    const { refresh_counter } = await service.db
      .selectFrom('sessions')
      .select('refresh_counter')
      .where('user_id', '=', person.id)
      .executeTakeFirstOrThrow();
    expect(refresh_counter).toBe(2);
  });
});
