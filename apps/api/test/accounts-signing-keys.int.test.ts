import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSigningKeys } from '../src/accounts/signing-keys.ts';
import { createAccessTokens } from '../src/accounts/tokens.ts';
import { type AccountsFixture, openAccounts, PUBLIC_URL, SECRET_KEY } from './accounts-fixture.ts';

let accounts: AccountsFixture;

beforeAll(async () => {
  accounts = await openAccounts();
});
afterAll(() => accounts?.close());

describe('signing keys', () => {
  const deps = () => ({ db: accounts.db, secretKey: SECRET_KEY, logger: accounts.logger });
  const timings = { signsFor: 1_000_000, publishAhead: 100_000, keepAfter: 50_000, reloadInterval: 0 };
  const kids = async (keys: ReturnType<typeof createSigningKeys>) =>
    (await keys.published()).map((key) => key.kid);

  it('lie encrypted in the database, and open with SECRET_KEY only', async () => {
    const { kid } = await accounts.deps.signingKeys.current();
    const row = await accounts.db
      .selectFrom('signing_keys')
      .selectAll()
      .where('kid', '=', kid)
      .executeTakeFirstOrThrow();
    expect(row.private_key_encrypted).toMatch(/^v1\./);
    expect(JSON.stringify(row.public_jwk)).not.toContain('"d"');

    const other = createSigningKeys({ ...deps(), secretKey: 'another secret of thirty-two characters' });
    expect(await other.find(kid)).toBeUndefined();
    expect((await other.current()).kid).not.toBe(kid);
    expect((await accounts.deps.signingKeys.current()).kid).toBe(kid);
  });

  it('are made once by processes that start together', async () => {
    await accounts.db.deleteFrom('signing_keys').execute();
    const processes = Array.from({ length: 4 }, () => createSigningKeys(deps()));
    const made = await Promise.all(processes.map((keys) => keys.current()));
    expect(new Set(made.map(({ kid }) => kid)).size).toBe(1);
    expect(await accounts.db.selectFrom('signing_keys').select('kid').execute()).toHaveLength(1);
  });

  it('rotate: the next is published before it signs, the last kept until its tokens are dead', async () => {
    await accounts.db.deleteFrom('signing_keys').execute();
    let now = Date.now();
    const keys = createSigningKeys({ ...deps(), timings, now: () => now });
    const first = (await keys.current()).kid;
    expect(await kids(keys)).toEqual([first]);

    now += 900_001;
    expect((await keys.current()).kid).toBe(first);
    await expect.poll(() => kids(keys)).toHaveLength(2);
    const [, second] = await kids(keys);
    expect((await keys.current()).kid).toBe(first);

    now += 100_000;
    expect((await keys.current()).kid).toBe(second);
    expect(await keys.find(first)).toBeDefined();

    now += 50_000;
    expect(await keys.find(first)).toBeUndefined();
    expect(await kids(keys)).toEqual([second]);
  });

  it('of another process are found by an unknown id, and reloaded once for many', async () => {
    await accounts.db.deleteFrom('signing_keys').execute();
    let statements = 0;
    const db = accounts.db.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const here = createSigningKeys({ ...deps(), db, timings: { reloadInterval: 300 } });
    expect(await here.find('unknown')).toBeUndefined();
    const there = createSigningKeys(deps());
    const tokens = createAccessTokens({ signingKeys: there, issuer: PUBLIC_URL });
    const token = await tokens.issue({ userId: randomUUID(), sessionId: randomUUID() });

    statements = 0;
    const verifier = createAccessTokens({ signingKeys: here, issuer: PUBLIC_URL });
    const found = await Promise.all([
      verifier.verify(token),
      ...Array.from({ length: 50 }, (_, n) => here.find(`strange-${n}`)),
    ]);
    expect(found[0]).toHaveProperty('sessionId');
    expect(found.slice(1).every((key) => key === undefined)).toBe(true);
    expect(statements).toBe(1);

    // The next unknown id waits until the interval has passed.
    const soon = here.find('strange again');
    await new Promise(setImmediate);
    expect(statements).toBe(1);
    await soon;
    expect(statements).toBe(2);
  });
});
