import { rename } from 'node:fs/promises';
import type { ObjectStoreOptions } from '@stowage/shared/objects/open-object-store.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { makePicture } from '../../../../scripts/testing/pictures.ts';
import { readBooks } from '../../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../../scripts/testing/test-services.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { type BreakableLine, openBreakableLine } from '../../../../shared/queues/test/breakable-line.ts';
import { type ApiRig, openApiRig } from './api-rig.ts';

const PATIENCE = { timeoutMs: 30_000 };

let api: ApiRig;
let line: BreakableLine | undefined;
afterEach(async () => {
  await api?.close();
  await line?.close();
  line = undefined;
});

/** A store that can be taken away and brought back. */
interface Away {
  readonly options: ObjectStoreOptions;
  take(): Promise<void>;
  bringBack(): Promise<void>;
}

const ways = objectStores().flatMap(({ name, options }) =>
  options.kind === 'filesystem'
    ? [{ name, way: 'its folder is gone', open: async () => folderAway(options) }]
    : (['cut', 'freeze'] as const).map((how) => ({
        name,
        way: how === 'cut' ? 'connections are refused' : 'nothing comes back',
        open: () => lineAway(options, how),
      })),
);

function folderAway(options: ObjectStoreOptions & { kind: 'filesystem' }): Away {
  const elsewhere = `${options.folder}-elsewhere`;
  return {
    options,
    take: () => rename(options.folder, elsewhere),
    bringBack: () => rename(elsewhere, options.folder),
  };
}

async function lineAway(options: ObjectStoreOptions & { kind: 's3' }, how: 'cut' | 'freeze'): Promise<Away> {
  const opened = await openBreakableLine(options.endpoint, 80);
  line = opened;
  const deadlines = { connectMs: 500, answerMs: 1_000, stallMs: 1_000, controlMs: 1_000, completeMs: 1_000 };
  return {
    options: { ...options, endpoint: opened.url.replace(/\/$/, ''), deadlines },
    take: async () => opened[how](),
    bringBack: async () => opened.mend(),
  };
}

describe.each(ways)('while the $name store is away because $way', { timeout: 60_000 }, ({ open }) => {
  it('uploads are 500 with nothing charged, reads are 503 and never 404, and it recovers by itself', async () => {
    const store = await open();
    api = await openApiRig({ store: store.options });
    const cached = await (await api.upload(Buffer.from('cached'))).text();
    expect((await api.get(`/${cached}`)).status).toBe(200);
    const small = await (await api.upload(Buffer.from('unread'))).text();
    const large = await (await api.upload(Buffer.alloc(2_000_000, 'x'))).text();
    const picture = await (
      await api.upload(await makePicture({ width: 64, height: 48, format: 'png' }), 'a.png')
    ).text();
    const before = await readBooks(api.db, api.userId);

    await store.take();
    const refused = await Promise.all([
      api.upload(Buffer.from('text')),
      api.upload(Buffer.alloc(9_000_000, 'x')),
      api.upload(await makePicture({ width: 64, height: 48, format: 'png' }), 'b.png'),
    ]);
    for (const answer of refused) {
      expect(answer.status).toBe(500);
      expect(await answer.json()).toMatchObject({ code: 'OBJECT_STORE_WRITE_FAILED' });
    }
    expect(await readBooks(api.db, api.userId)).toMatchObject({ stored: before.stored, reserved: 0 });
    const reads = [
      `/${small}`,
      `/${large}`,
      `/${picture}`,
      `/${picture.replace('.', '_32.')}`,
      `/${picture}/webp`,
    ];
    for (const answer of await Promise.all(reads.map((path) => api.get(path)))) {
      expect([answer.url, answer.status]).toEqual([answer.url, 503]);
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await answer.json()).toMatchObject({ code: 'OBJECT_STORE_UNAVAILABLE' });
    }
    expect(await (await api.get(`/${cached}`)).text()).toBe('cached');
    expect(await api.readiness()).toMatchObject({ status: 503, failed: ['object_store'] });

    await store.bringBack();
    for (const path of reads) await waitFor(async () => (await api.get(path)).status === 200, PATIENCE);
    await waitFor(async () => (await api.readiness()).status === 200, PATIENCE);
    expect((await api.upload(Buffer.from('text'))).status).toBe(200);
  });
});
