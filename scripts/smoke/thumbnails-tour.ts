import assert from 'node:assert/strict';
import { json } from './accounts-tour.ts';
import { until } from './files-tour.ts';
import { type Measured, measure } from './sample-pictures.ts';
import { needed, type StoredPicture, type Tour, type Visitor } from './tour.ts';

interface VariantState {
  width: number;
  format: string;
  state: 'pending' | 'ready' | 'failed';
}

/** A width that is nobody's configured one, so that it is rendered in the request. */
const ODD_WIDTH = 333;
const CONFIGURED = 256;

/** Waits for the thumbnails worker, then decodes and measures what is served. */
export async function tourThumbnails(
  tour: Tour,
  visitor: Visitor | undefined,
  pictures: readonly StoredPicture[],
): Promise<void> {
  const { client } = tour;

  await tour.step('the worker has all variants of all pictures ready', async () => {
    const { headers } = needed(visitor, 'login');
    needed(pictures[0], 'stored picture');
    let variants: VariantState[] = [];
    for (const { name } of pictures) {
      await until(async () => {
        const file = await json(await client.get(`/files/${name}`, headers), 200);
        variants = file.variants as VariantState[]; // as R10 says; else the assertions below fail
        assert.ok(
          variants.length > 0 && variants.every(({ state }) => state !== 'failed'),
          JSON.stringify(variants),
        );
        return variants.every(({ state }) => state === 'ready');
      }, `the variants of ${name}`);
    }
    return `${variants.length} of the last`;
  });

  for (const picture of pictures) {
    await tour.step(
      `thumbnails of ${picture.name.slice(-4)}: exact sizes, stored format and WebP`,
      async () => {
        const [stem, extension] = picture.name.split('.');
        for (const width of [CONFIGURED, ODD_WIDTH]) {
          const height = Math.max(1, Math.round((width * picture.height) / picture.width));
          const plain = await thumbnail(tour, `/${stem}_${width}.${extension}`);
          assert.deepEqual(size(plain), { format: picture.format, width, height });
          const webp = await thumbnail(tour, `/${stem}_${width}.${extension}/webp`);
          assert.deepEqual(size(webp), { format: 'webp', width, height });
          assert.ok(!plain.hasMetadata && !webp.hasMetadata, 'metadata is dropped');
          if (picture.format === 'gif')
            assert.ok(plain.pages > 1 && webp.pages > 1, 'animations stay animated');
        }
        const whole = await thumbnail(tour, `/${picture.name}/webp`);
        assert.deepEqual(size(whole), { format: 'webp', width: picture.width, height: picture.height });
      },
    );
  }

  await tour.step('a thumbnail is cached by its ETag', async () => {
    const [stem, extension] = needed(pictures[0], 'stored picture').name.split('.');
    const path = `/${stem}_${CONFIGURED}.${extension}`;
    const first = await client.get(path);
    await first.arrayBuffer();
    assert.match(first.headers.get('cache-control') ?? '', /immutable/);
    assert.equal((await client.get(path, { 'if-none-match': first.headers.get('etag') ?? '' })).status, 304);
  });

  await tour.step('impossible thumbnails: width 0 and 4097 are 400, odd names 404, `s=` 400', async () => {
    const [stem, extension] = needed(pictures[0], 'stored picture').name.split('.');
    for (const width of ['0', '4097']) {
      assert.equal(
        (await json(await client.get(`/${stem}_${width}.${extension}`), 400)).code,
        'INVALID_WIDTH',
      );
    }
    for (const name of [`${stem}_-1.${extension}`, `${stem}_abc.${extension}`, `${stem}_64.pdf`, `${stem}`]) {
      assert.equal((await client.get(`/${name}`)).status, 404, name);
    }
    const overlay = await client.get(`/${stem}_64.${extension}?s=hello`);
    assert.equal((await json(overlay, 400)).code, 'UNSUPPORTED_PARAMETER');
  });
}

async function thumbnail(tour: Tour, path: string): Promise<Measured> {
  const answer = await tour.client.get(path);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  assert.equal(answer.status, 200, `${path}: ${Buffer.from(bytes).toString('utf8', 0, 300)}`);
  const measured = await measure(bytes);
  assert.equal(answer.headers.get('content-type'), `image/${measured.format}`);
  return measured;
}

function size({ format, width, height }: Measured) {
  return { format, width, height };
}
