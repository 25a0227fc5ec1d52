import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../scripts/testing/wait-for.ts';
import { type FilesFixture, openFiles, type Uploader } from './files-fixture.ts';
import { openRaw, type RawClient, uploadBody, uploadHead } from './raw-client.ts';

const nothing = { stored: 0, files: 0, reserved: 0, uploads: 0 };
const text = (size: number) => Buffer.alloc(size, 'a');

describe.each(objectStores())('an upload to the $name store that is interrupted', ({ options }) => {
  let files: FilesFixture;
  let put: ObjectStore['put'] | undefined;
  let client: RawClient | undefined;

  beforeAll(async () => {
    files = await openFiles({
      store: options,
      wrapStore: (store) =>
        new Proxy(store, {
          get: (target, name) => {
            const own: unknown = Reflect.get(target, name);
            if (name === 'put' && put !== undefined) return put;
            return typeof own === 'function' ? own.bind(target) : own;
          },
        }),
      settings: { timings: { leaseMs: 3_000, leaseMarginMs: 500, leaseTickMs: 20 } },
      // Less than 10 bytes in 300 ms of waiting is too slow.
      http: { pace: { minBytes: 10, windowMs: 300, tickMs: 20 }, dropBodyMs: 200 },
    });
  });
  afterEach(() => {
    put = undefined;
    client?.close();
  });
  afterAll(() => files?.close());

  const uploadsOf = (user: Uploader) =>
    files.db.selectFrom('uploads').select(['id', 'state']).where('user_id', '=', user.id).execute();
  const books = (user: Uploader) => readBooks(files.db, user.id);

  /** An upload of which a part has arrived. */
  async function begun(user: Uploader, { headers = [] as string[] } = {}) {
    const opened = await openRaw(files.port);
    client = opened;
    opened.send(uploadHead({ token: user.token, contentLength: 1_000_000, headers }));
    opened.send(uploadBody('x'.repeat(100_000)).slice(0, 90_000));
    const [upload] = await waitFor(async () => {
      const uploads = await uploadsOf(user);
      return uploads.length > 0 ? uploads : undefined;
    });
    return { client: opened, id: upload!.id };
  }

  /** Sends a byte now and then, so that the connection never is idle. */
  function trickle(to: RawClient, bytes = 1) {
    const timer = setInterval(() => to.send('x'.repeat(bytes)), 50);
    return () => clearInterval(timer);
  }

  it('because the body comes too slowly: 408, and the connection ends', async () => {
    const user = await files.user();
    const { client: slow } = await begun(user);
    const stop = trickle(slow);
    expect(await slow.until('REQUEST_TIMEOUT')).toMatch(/^HTTP\/1.1 408 /);
    await slow.untilClosed();
    stop();
    expect(await books(user)).toMatchObject(nothing);
    expect((await uploadsOf(user)).map(({ state }) => state)).not.toContain('open');
  });

  it('but not when it comes slowly enough for a long time', async () => {
    const user = await files.user();
    const body = uploadBody('x'.repeat(200));
    const opened = await openRaw(files.port);
    client = opened;
    opened.send(uploadHead({ token: user.token, contentLength: body.length }));
    for (let at = 0; at < body.length; at += 10) {
      opened.send(body.slice(at, at + 10));
      await sleep(50);
    }
    expect(await opened.until('.txt')).toMatch(/^HTTP\/1.1 200 /);
  });

  it('nor when it is the store that is slow', async () => {
    const user = await files.user();
    put = async (_key, body) => {
      // Longer than any client would be waited for.
      await sleep(900);
      let size = 0;
      for await (const chunk of body as AsyncIterable<Uint8Array>) size += chunk.length;
      return size;
    };
    expect((await files.upload(user, [{ bytes: text(5_000_000) }])).status).toBe(200);
  });

  it('because a sweep took it: 503, nothing charged, and no object is left behind', async () => {
    const user = await files.user();
    const { client: late, id } = await begun(user);
    const stop = trickle(late, 100);
    await files.db.updateTable('quotas').set({ reserved_bytes: 0 }).where('user_id', '=', user.id).execute();
    await files.db
      .updateTable('uploads')
      .set({ state: 'sweeping', reserved_bytes: 0 })
      .where('id', '=', id)
      .execute();
    const answer = await late.until('UPLOAD_LEASE_LOST');
    stop();
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    expect(answer.toLowerCase()).toContain('retry-after: ');
    expect(await books(user)).toMatchObject(nothing);
    const keys: string[] = [];
    for await (const { key } of files.objects.list(`originals/${id}/`)) keys.push(key);
    expect(keys).toEqual([]);
  });

  it('but not while it goes on: its lease is renewed', async () => {
    const user = await files.user();
    const { client: long, id } = await begun(user);
    const stop = trickle(long, 100);
    const lease = async () =>
      (
        await files.db
          .selectFrom('uploads')
          .select('lease_until')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
      ).lease_until;
    const first = await lease();
    await waitFor(async () => (await lease()) > first);
    stop();
  });

  it('because the store failed: 500, and nothing charged', async () => {
    const user = await files.user();
    put = async () => {
      throw new AppError('OBJECT_STORE_WRITE_FAILED', 'The disk is full.', {
        cause: new Error('ENOSPC /secret'),
      });
    };
    for (const size of [10, 3_000_000]) {
      const response = await files.upload(user, [{ bytes: text(size) }]);
      expect(response.status).toBe(500);
      const body = await response.text();
      expect(body).toContain('"code":"OBJECT_STORE_WRITE_FAILED"');
      expect(body).not.toMatch(/disk|ENOSPC|secret/);
      expect(await books(user)).toMatchObject(nothing);
    }
  });

  it('by another with the same idempotency key: that one has to wait', async () => {
    const user = await files.user();
    await begun(user, { headers: ['idempotency-key: k'] });
    const response = await files.upload(user, [{ bytes: text(1) }], { 'idempotency-key': 'k' });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'IDEMPOTENT_REQUEST_IN_PROGRESS' });
    expect(response.headers.get('retry-after')).toBe('2');
  });

  it('keeps its idempotency key for a next try', async () => {
    const user = await files.user();
    const { client: gone } = await begun(user, { headers: ['idempotency-key: k'] });
    gone.close();
    await waitFor(async () => !(await uploadsOf(user)).some(({ state }) => state === 'open'));
    expect((await files.upload(user, [{ bytes: text(1) }], { 'idempotency-key': 'k' })).status).toBe(200);
  });

  it('after a refusal is not read for ever', async () => {
    const opened = await openRaw(files.port);
    client = opened;
    opened.send(uploadHead({ contentLength: 1_000_000 }));
    await opened.until('401 ');
    const stop = trickle(opened, 1_000);
    await opened.untilClosed();
    stop();
  });

  // The last one: there is no way back.
  it('by the end of the process: 503', async () => {
    const user = await files.user();
    const { client: cut } = await begun(user);
    files.shutdown.abort(new AppError('SHUTTING_DOWN', 'The server is being stopped. Try again.'));
    expect(await cut.until('SHUTTING_DOWN')).toMatch(/^HTTP\/1.1 503 /);
    await waitFor(async () => !(await uploadsOf(user)).some(({ state }) => state === 'open'));
    expect(await books(user)).toMatchObject(nothing);
  });
});
