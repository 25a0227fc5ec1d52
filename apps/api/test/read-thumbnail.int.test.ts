import { createHash, randomUUID } from 'node:crypto';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { createRenderPool, type RenderPool } from '@stowage/shared/images/render-pool.ts';
import type { RenderedVariant } from '@stowage/shared/images/render-request.ts';
import type { RenderTask } from '@stowage/shared/images/render-task.ts';
import { createLogger } from '@stowage/shared/logging/create-logger.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { openObjectStore } from '@stowage/shared/objects/open-object-store.ts';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makePicture, type PictureOptions } from '../../../scripts/testing/pictures.ts';
import { openTestDatabase, type TestDatabase } from '../../../scripts/testing/test-database.ts';
import { makeFile, makeUser, type TestFile } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { ByteCache, type CachedBytes } from '../src/files/byte-cache.ts';
import { createFileLookUp } from '../src/files/look-up-file.ts';
import { readThumbnail, type ThumbnailAsked, type ThumbnailDeps } from '../src/files/read-thumbnail.ts';
import { RenderAdmission } from '../src/files/render-admission.ts';
import { SingleFlight } from '../src/files/single-flight.ts';

const IMMUTABLE = 'public, max-age=31536000, immutable';
const SOON = 'public, max-age=60';
const logger = createLogger({ name: 'test', level: 'silent' });

let database: TestDatabase;
let user: string;
let children: RenderPool;

beforeAll(async () => {
  database = await openTestDatabase();
  user = await makeUser(database.db);
  children = createRenderPool({ children: 2, deadlineMs: 20_000, maxInputPixels: 100_000_000, logger });
});
afterAll(async () => {
  await children.close();
  await database.close();
});

describe.each(objectStores())('a thumbnail read, with originals on $name', ({ options }) => {
  let store: ObjectStore;
  let now: number;
  let deps: ThumbnailDeps;
  /** Keys that were read from the store, in order. */
  let read: string[];
  let renders: number;
  let lookUpFails: boolean;

  beforeAll(() => {
    store = openObjectStore(options);
  });
  afterAll(() => store.close());

  beforeEach(() => {
    now = 0;
    read = [];
    renders = 0;
    lookUpFails = false;
    const rows = createFileLookUp({ db: database.db, freshMs: 0 });
    deps = {
      db: database.db,
      store: {
        ...store,
        get: (key, getOptions) => {
          read.push(key);
          return store.get(key, getOptions);
        },
      },
      pool: {
        ...children,
        render: (task: RenderTask) => {
          renders += 1;
          return children.render(task);
        },
      },
      lookUpFile: async (stem) => {
        if (lookUpFails) throw new AppError('DATABASE_UNAVAILABLE', 'gone');
        return await rows.find(stem);
      },
      cache: new ByteCache({ maxBytes: 50_000_000, now: () => now }),
      flights: new SingleFlight<CachedBytes>(),
      admission: new RenderAdmission({ slots: 2 }),
      thumbnailWidths: [64, 128, 256, 512, 1024],
      maxInputPixels: 100_000_000,
    };
  });

  async function stored(bytes: Uint8Array, values: Partial<TestFile> = {}): Promise<TestFile> {
    const object_key = `originals/${randomUUID()}/0`;
    await store.put(object_key, bytes, { contentType: 'image/jpeg' });
    return await makeFile(database.db, user, {
      object_key,
      extension: 'jpg',
      content_type: 'image/jpeg',
      render_state: 'pending',
      ...values,
    });
  }

  async function picture(
    made: Partial<PictureOptions> = {},
    values: Partial<TestFile> = {},
  ): Promise<TestFile> {
    const { width = 600, height = 401 } = made;
    const bytes = await makePicture({ width, height, format: 'jpeg', ...made });
    return await stored(bytes, { width, height, ...values });
  }

  /** What the worker would have written. */
  async function variant(file: TestFile, width: number, format: string, bytes: Uint8Array): Promise<string> {
    const object_key = `variants/${file.id}/${width}-${format}-test`;
    await store.put(object_key, bytes, { contentType: `image/${format}` });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { height = 1 } = await sharp(bytes).metadata();
    await database.db
      .insertInto('variants')
      .values({ file_id: file.id, width, height, format, object_key, size_bytes: bytes.length, sha256 })
      .execute();
    return object_key;
  }

  const rendered = (file: TestFile) =>
    database.db.updateTable('files').set({ render_state: 'rendered' }).where('id', '=', file.id).execute();

  const ask = (file: TestFile, asked: Partial<ThumbnailAsked> = {}) =>
    readThumbnail(deps, {
      stem: file.stem,
      extension: file.extension,
      width: 200,
      webp: false,
      clientIp: '192.0.2.1',
      signal: new AbortController().signal,
      ...asked,
    });

  const sizeOf = async (bytes: Uint8Array) => {
    const { width, height, format } = await sharp(bytes).metadata();
    return `${width}x${height} ${format}`;
  };

  describe('forms', () => {
    test('any width, in the stored format and as WebP, with the hash of the bytes as tag', async () => {
      const file = await picture();
      for (const [webp, format] of [
        [false, 'jpeg'],
        [true, 'webp'],
      ] as const) {
        const { bytes, contentType, etag, cacheControl } = await ask(file, { webp });
        expect(await sizeOf(bytes)).toBe(`200x134 ${format}`);
        expect(contentType).toBe(`image/${format}`);
        expect(etag).toBe(`"${createHash('sha256').update(bytes).digest('hex')}"`);
        expect(cacheControl).toBe(IMMUTABLE);
      }
    });

    test('the full size as WebP', async () => {
      const file = await picture({ orientation: 6 }, { width: 401, height: 600 });
      const { bytes } = await ask(file, { width: undefined, webp: true });
      expect(await sizeOf(bytes)).toBe('401x600 webp');
    });

    test('a width above the original’s', async () => {
      const file = await picture({ width: 60, height: 40 });
      expect(await sizeOf((await ask(file, { width: 4096 })).bytes)).toBe('4096x2731 jpeg');
    });

    test('a picture whose size nobody could read at the upload', async () => {
      const file = await picture({}, { width: null, height: null });
      expect(await sizeOf((await ask(file)).bytes)).toBe('200x134 jpeg');
    });
  });

  describe('refusals', () => {
    test.each([0, 4097, 1.5, Number.NaN, 1e99])('a width of %d is invalid', async (width) => {
      await expect(ask(await picture(), { width })).rejects.toMatchObject({ code: 'INVALID_WIDTH' });
    });

    test('an unknown name, or another extension than the stored one, is not there', async () => {
      const file = await picture();
      await expect(ask({ ...file, stem: 'unknown' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await expect(ask(file, { extension: 'png' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    });

    test('what is no picture, and a HEIC, have codes of their own', async () => {
      const bytes = Buffer.from('some bytes');
      const pdf = await stored(bytes, { content_type: 'application/pdf', extension: 'pdf' });
      const heic = await stored(bytes, { content_type: 'image/heic', extension: 'heic' });
      await expect(ask(pdf)).rejects.toMatchObject({ code: 'NOT_A_PICTURE' });
      await expect(ask(heic)).rejects.toMatchObject({ code: 'PICTURE_FORMAT_NOT_RENDERED' });
      expect(read).toEqual([]);
    });

    test('a broken picture is unreadable', async () => {
      const whole = await makePicture({ width: 600, height: 400, format: 'jpeg' });
      const file = await stored(whole.subarray(0, whole.length / 2));
      await expect(ask(file)).rejects.toMatchObject({ code: 'PICTURE_UNREADABLE' });
    });

    test('a picture of too many pixels is refused before a byte of it is read', async () => {
      const file = await picture({ width: 60, height: 40 }, { width: 65_536, height: 65_536 });
      await expect(ask(file)).rejects.toMatchObject({ code: 'PICTURE_TOO_LARGE' });
      expect(read).toEqual([]);
    });

    test('a picture that the workers have given up is not tried again', async () => {
      const failed = { render_state: 'failed' as const };
      const crashing = await picture({}, { ...failed, render_error: 'RENDER_CRASHED: three times' });
      const large = await picture({}, { ...failed, render_error: 'PICTURE_TOO_LARGE: 1 × 1' });
      await expect(ask(crashing)).rejects.toMatchObject({ code: 'PICTURE_UNREADABLE' });
      await expect(ask(large)).rejects.toMatchObject({ code: 'PICTURE_TOO_LARGE' });
      expect(renders).toBe(0);
    });

    test('a thumbnail that WebP cannot hold is too large', async () => {
      const file = await picture({ width: 10, height: 1_000 });
      await expect(ask(file, { webp: true })).rejects.toMatchObject({ code: 'THUMBNAIL_TOO_LARGE' });
    });
  });

  describe('work that is not done twice', () => {
    test('16 identical requests cause one render', async () => {
      const file = await picture();
      const answers = await Promise.all(Array.from({ length: 16 }, () => ask(file)));
      expect(new Set(answers.map(({ etag }) => etag)).size).toBe(1);
      expect(renders).toBe(1);
    });

    test('the next one is answered from memory', async () => {
      const file = await picture();
      const first = await ask(file);
      expect(await ask(file)).toEqual(first);
      expect(renders).toBe(1);
      expect(read).toEqual([file.object_key]);
    });

    test('a reader who leaves does not spoil it for the others', async () => {
      const file = await picture();
      const leaving = new AbortController();
      const [left, stayed] = [ask(file, { signal: leaving.signal }), ask(file)];
      leaving.abort(new AppError('CLIENT_GONE', 'gone'));
      await expect(left).rejects.toMatchObject({ code: 'CLIENT_GONE' });
      expect((await stayed).bytes.length).toBeGreaterThan(0);
    });
  });

  describe('the worker’s own', () => {
    test('is served from the store as it is', async () => {
      const file = await picture({}, { render_state: 'rendered' });
      const bytes = await makePicture({ width: 128, height: 86, format: 'webp' });
      const key = await variant(file, 128, 'webp', bytes);
      const answer = await ask(file, { width: 128, webp: true });
      expect(Buffer.from(answer.bytes).equals(bytes)).toBe(true);
      expect(answer.cacheControl).toBe(IMMUTABLE);
      expect(read).toEqual([key]);
      expect(renders).toBe(0);
    });

    test('takes the place of what was rendered while it was still to come', async () => {
      const file = await picture();
      const early = await ask(file, { width: 128 });
      expect(early.cacheControl).toBe(SOON);
      const bytes = await makePicture({ width: 128, height: 86, format: 'jpeg', seed: 2 });
      await variant(file, 128, 'jpeg', bytes);
      expect((await ask(file, { width: 128 })).etag).toBe(early.etag);
      await rendered(file);
      const late = await ask(file, { width: 128 });
      expect(Buffer.from(late.bytes).equals(bytes)).toBe(true);
      expect(late.cacheControl).toBe(IMMUTABLE);
    });

    test('that is just being replaced is rendered instead', async () => {
      const file = await picture({}, { render_state: 'rendered' });
      const key = await variant(
        file,
        128,
        'jpeg',
        await makePicture({ width: 128, height: 86, format: 'jpeg' }),
      );
      await store.delete([key]);
      expect(await sizeOf((await ask(file, { width: 128 })).bytes)).toBe('128x86 jpeg');
    });
  });

  describe('the source', () => {
    const large = async (file: TestFile, widths: number[], format: 'jpeg' | 'webp' = 'jpeg') => {
      const keys: string[] = [];
      for (const width of widths) {
        const height = Math.round((width * 401) / 600);
        keys.push(await variant(file, width, format, await makePicture({ width, height, format })));
      }
      return keys;
    };

    test('is the smallest variant of the same format with twice the pixels across', async () => {
      const file = await picture({}, { render_state: 'rendered' });
      const [, half] = await large(file, [128, 256, 512]);
      await large(file, [512], 'webp');
      const { bytes } = await ask(file, { width: 100 });
      expect(await sizeOf(bytes)).toBe('100x67 jpeg');
      expect(read).toEqual([`variants/${file.id}/256-jpeg-test`]);
      expect(half).toBe(read[0]);
      read = [];
      await ask(file, { width: 100, webp: true });
      expect(read).toEqual([`variants/${file.id}/512-webp-test`]);
    });

    test('is the original when no variant is large enough', async () => {
      const file = await picture({}, { render_state: 'rendered' });
      await large(file, [128, 256]);
      await ask(file, { width: 200 });
      expect(read).toEqual([file.object_key]);
    });

    test('is the original when the variant has just gone', async () => {
      const file = await picture({}, { render_state: 'rendered' });
      const keys = await large(file, [256]);
      await store.delete(keys);
      expect(await sizeOf((await ask(file, { width: 100 })).bytes)).toBe('100x67 jpeg');
      expect(read).toEqual([keys[0], file.object_key]);
    });

    test('is the original of an animation, of which a variant may hold one frame', async () => {
      const bytes = await makePicture({ width: 600, height: 401, format: 'gif', frames: 3 });
      const file = await stored(bytes, {
        content_type: 'image/gif',
        extension: 'gif',
        width: 600,
        height: 401,
        render_state: 'rendered',
      });
      await variant(file, 512, 'gif', await makePicture({ width: 512, height: 342, format: 'gif' }));
      const answer = await ask(file, { width: 100 });
      expect((await sharp(answer.bytes).metadata()).pages).toBe(3);
      expect(read).toEqual([file.object_key]);
    });
  });

  describe('when things are away', () => {
    test('bytes from memory are served for five minutes without Postgres', async () => {
      const file = await picture();
      const first = await ask(file);
      lookUpFails = true;
      now = 300_000;
      expect((await ask(file)).etag).toBe(first.etag);
      now = 300_001;
      await expect(ask(file)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    });

    test('what is not in memory is not served then', async () => {
      const file = await picture();
      await ask(file);
      lookUpFails = true;
      await expect(ask(file, { width: 201 })).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    });

    test('a deleted file is gone, also from memory', async () => {
      const file = await picture();
      await ask(file);
      await database.db.updateTable('files').set({ state: 'deleting' }).where('id', '=', file.id).execute();
      await expect(ask(file)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      lookUpFails = true;
      await expect(ask(file)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    });
  });

  test('beyond slots and queue it is OVERLOADED, while memory still answers', async () => {
    const file = await picture();
    await ask(file, { width: 10 });
    const gate = Promise.withResolvers<void>();
    const held = {
      ...deps,
      admission: new RenderAdmission({ slots: 1, queueLength: 2 }),
      pool: {
        ...children,
        render: async (task: RenderTask) => {
          await gate.promise;
          return await children.render(task);
        },
      },
    };
    const askHeld = (width: number, clientIp: string) =>
      readThumbnail(held, {
        stem: file.stem,
        extension: file.extension,
        width,
        webp: false,
        clientIp,
        signal: new AbortController().signal,
      });
    // One runs and two wait until they are let go, so the first to end is the one that is turned away.
    const asked = [11, 12, 13, 14].map((width) => askHeld(width, `client ${width}`));
    const outcomes = asked.map((answer) =>
      answer.then(
        async ({ bytes }) => (await sharp(bytes).metadata()).width,
        (error: AppError) => error.code,
      ),
    );
    expect(await Promise.race(outcomes)).toBe('OVERLOADED');
    expect((await askHeld(10, 'another client')).bytes.length).toBeGreaterThan(0);
    gate.resolve();
    const ended = await Promise.all(outcomes);
    expect(ended.filter((outcome) => typeof outcome === 'number')).toHaveLength(3);
  });

  test('a render is as good from a variant as from the original', async () => {
    const file = await picture({ width: 1024, height: 683 }, { render_state: 'pending' });
    const direct = await ask(file, { width: 256 });
    const source: RenderedVariant[] = [];
    await children.render({
      request: { cause: 'ahead', widths: [1024], formats: ['jpeg'] },
      openSource: () => store.get(file.object_key),
      onVariant: (made) => source.push(made),
    });
    await variant(file, 512, 'jpeg', await sharp(source[0]!.bytes).resize(512, 342).jpeg().toBuffer());
    const again = await ask(file, { width: 255 });
    expect(read.at(-1)).toMatch(/512-jpeg-test$/);
    expect(await sizeOf(again.bytes)).toBe('255x170 jpeg');
    const pixels = (bytes: Uint8Array) => sharp(bytes).resize(128, 85, { fit: 'fill' }).raw().toBuffer();
    const [one, other] = await Promise.all([pixels(direct.bytes), pixels(again.bytes)]);
    const difference = one.reduce((sum, value, index) => sum + Math.abs(value - other[index]!), 0);
    expect(difference / one.length).toBeLessThan(6);
  });
});
