import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { faultsInBooks, readBooks } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { type FilesFixture, openFiles } from './files-fixture.ts';

describe.each(objectStores())('an upload to the $name store', ({ options }) => {
  let files: FilesFixture;
  beforeAll(async () => {
    files = await openFiles({ store: options });
  });
  afterAll(() => files?.close());

  it('is answered with its name, and reads back byte for byte', async () => {
    const user = await files.user();
    const bytes = await makePicture({ width: 300, height: 200, format: 'jpeg' });
    const response = await files.upload(user, [{ bytes, fileName: 'holiday.png' }]);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const name = await response.text();
    expect(name).toMatch(/^[0-9a-hjkmnp-tv-z]{26}\.jpg$/);

    const read = await fetch(`${files.url}/${name}`);
    expect(read.status).toBe(200);
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
    expect(read.headers.get('content-type')).toBe('image/jpeg');
    expect(read.headers.get('etag')).toBe(`"${createHash('sha256').update(bytes).digest('hex')}"`);
    expect(read.headers.get('content-disposition')).toBe('inline; filename=holiday.png');

    expect(await readBooks(files.db, user.id)).toMatchObject({
      stored: bytes.length,
      reserved: 0,
      uploads: 0,
    });
    expect(await faultsInBooks(files.db, user.id)).toEqual([]);
  });
});
