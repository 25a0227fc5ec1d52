import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../scripts/testing/pictures.ts';
import { makeFile } from '../../../scripts/testing/test-rows.ts';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { type FilesFixture, openFiles, type Uploader } from './files-fixture.ts';

interface Listed {
  files: { name: string; original_name: string | null }[];
  next_cursor: string | null;
}

const [store] = objectStores();
let files: FilesFixture;
beforeAll(async () => {
  files = await openFiles({ store: store!.options });
});
afterAll(() => files?.close());

const as = (user: Uploader, path: string, method = 'GET') =>
  fetch(`${files.url}${path}`, { method, headers: { authorization: `Bearer ${user.token}` } });
const codeOf = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
];
const list = async (user: Uploader, query = '') =>
  (await (await as(user, `/files${query}`)).json()) as Listed;
const makeFiles = async (user: Uploader, count: number, values = {}) => {
  const names: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const file = await makeFile(files.db, user.id, { original_name: `${n}`, ...values });
    names.push(`${file.stem}.txt`);
  }
  return names;
};

describe('listing files', () => {
  it('shows the own ones, newest first, page by page, also those of the same moment', async () => {
    const user = await files.user();
    await makeFiles(await files.user(), 3);
    const names = await makeFiles(user, 3);
    const created_at = new Date('2030-01-01T00:00:00Z');
    const together = await makeFiles(user, 4, { created_at });
    expect((await list(user)).files).toHaveLength(7);
    expect((await list(user)).next_cursor).toBeNull();

    const seen: string[] = [];
    let page = await list(user, '?limit=2');
    for (;;) {
      seen.push(...page.files.map((file) => file.name));
      if (page.next_cursor === null) break;
      expect(page.files).toHaveLength(2);
      page = await list(user, `?limit=2&cursor=${page.next_cursor}`);
    }
    expect(seen.slice(4)).toEqual(names.reverse());
    expect(seen.slice(0, 4).sort()).toEqual(together.sort());
  });

  it('does not shift when files come and go between pages', async () => {
    const user = await files.user();
    const names = await makeFiles(user, 4);
    const first = await list(user, '?limit=2');
    await makeFiles(user, 2);
    await files.db
      .updateTable('files')
      .set({ state: 'deleting' })
      .where('stem', '=', names[2]!.slice(0, 26))
      .execute();
    const second = await list(user, `?limit=2&cursor=${first.next_cursor}`);
    expect([...first.files, ...second.files].map((file) => file.name)).toEqual([
      names[3],
      names[2],
      names[1],
      names[0],
    ]);
  });

  it('describes each file', async () => {
    const user = await files.user();
    const bytes = await makePicture({ width: 30, height: 20, format: 'png' });
    const name = await (await files.upload(user, [{ bytes, fileName: 'Ä.png' }])).text();
    expect((await list(user)).files).toEqual([
      {
        name,
        original_name: 'Ä.png',
        content_type: 'image/png',
        size: bytes.length,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        width: 30,
        height: 20,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    ]);
  });

  it("shows administrators anybody's, and nobody else", async () => {
    const [user, other, admin] = [
      await files.user(),
      await files.user(),
      await files.user({ role: 'admin' }),
    ];
    const names = await makeFiles(user, 1);
    expect((await list(admin, `?user_id=${user.id}`)).files.map((file) => file.name)).toEqual(names);
    expect((await list(user, `?user_id=${user.id}`)).files).toHaveLength(1);
    expect(await codeOf(await as(other, `/files?user_id=${user.id}`))).toEqual([403, 'FORBIDDEN']);
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const id of [unknown, 'nobody']) {
      expect(await codeOf(await as(other, `/files?user_id=${id}`))).toEqual([403, 'FORBIDDEN']);
      expect(await codeOf(await as(admin, `/files?user_id=${id}`))).toEqual([404, 'USER_NOT_FOUND']);
    }
  });

  it.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1.5',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'cursor=',
    'cursor=x',
    'cursor=1.2',
    "cursor=1'.x",
    'cursor=99999999999999999.00000000-0000-4000-8000-000000000000',
    'order=asc',
    'user_id=',
  ])('refuses %s, naming the field', async (query) => {
    const response = await as(await files.user(), `/files?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'INVALID_REQUEST',
      details: { field: query.split('=')[0] },
    });
  });

  it('needs a living session', async () => {
    const user = await files.user();
    await files.db
      .updateTable('sessions')
      .set({ revoked_at: new Date() })
      .where('id', '=', user.sessionId)
      .execute();
    for (const path of ['/files', `/files/${'0'.repeat(26)}.txt`])
      expect(await codeOf(await as(user, path))).toEqual([401, 'UNAUTHENTICATED']);
    expect(await codeOf(await fetch(`${files.url}/files`))).toEqual([401, 'UNAUTHENTICATED']);
  });
});

describe('the details of a file', () => {
  it('show what became of its thumbnails', async () => {
    const user = await files.user();
    const bytes = await makePicture({ width: 100, height: 50, format: 'jpeg' });
    const name = await (await files.upload(user, [{ bytes, fileName: 'a.jpg' }])).text();
    const details = async () => (await (await as(user, `/files/${name}`)).json()) as { variants: unknown[] };
    const variant = (width: number, format: string) => ({ width, format, size: null, error: null });
    expect(await details()).toMatchObject({
      name,
      original_name: 'a.jpg',
      width: 100,
      height: 50,
      size: bytes.length,
    });
    // 128 is wider than the picture.
    expect((await details()).variants).toEqual([
      { ...variant(64, 'jpeg'), state: 'pending' },
      { ...variant(64, 'webp'), state: 'pending' },
    ]);

    const { id } = await files.db
      .selectFrom('files')
      .select('id')
      .where('stem', '=', name.slice(0, 26))
      .executeTakeFirstOrThrow();
    await files.db
      .insertInto('variants')
      .values({
        file_id: id,
        width: 64,
        height: 32,
        format: 'webp',
        object_key: `variants/${id}/64-webp-x`,
        size_bytes: 777,
        sha256: '0'.repeat(64),
      })
      .execute();
    await files.db
      .updateTable('files')
      .set({ render_state: 'failed', render_error: 'PICTURE_UNREADABLE: cut off' })
      .where('id', '=', id)
      .execute();
    expect((await details()).variants).toEqual([
      { ...variant(64, 'jpeg'), state: 'failed', error: 'PICTURE_UNREADABLE: cut off' },
      { ...variant(64, 'webp'), state: 'ready', size: 777 },
    ]);
  });

  it('are for the owner and administrators', async () => {
    const [user, other, admin] = [
      await files.user(),
      await files.user(),
      await files.user({ role: 'admin' }),
    ];
    const [name] = await makeFiles(user, 1);
    expect((await as(admin, `/files/${name}`)).status).toBe(200);
    expect(await (await as(user, `/files/${name}`)).json()).toMatchObject({ name, variants: [] });
    expect(await codeOf(await as(other, `/files/${name}`))).toEqual([403, 'FORBIDDEN']);
  });

  it('are not found for thumbnails, other extensions and deleted files', async () => {
    const user = await files.user();
    const [name = ''] = await makeFiles(user, 1);
    await makeFiles(user, 1, { state: 'deleting', stem: 'z'.repeat(26) });
    for (const path of [
      name.replace('.', '_64.'),
      name.replace('.txt', '.csv'),
      `${'z'.repeat(26)}.txt`,
      'x',
    ])
      expect(await codeOf(await as(user, `/files/${path}`)), path).toEqual([404, 'FILE_NOT_FOUND']);
    expect(await codeOf(await as(user, `/files/${name.replace('.', '_0.')}`))).toEqual([
      400,
      'INVALID_WIDTH',
    ]);
  });
});

describe('deleting a file', () => {
  it('ends its reading before the answer comes', async () => {
    const user = await files.user();
    const name = await (await files.upload(user, [{ bytes: Buffer.from('x') }])).text();
    expect((await fetch(`${files.url}/${name}`)).status).toBe(200);
    const response = await as(user, `/${name}`, 'DELETE');
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(await codeOf(await fetch(`${files.url}/${name}`))).toEqual([404, 'FILE_NOT_FOUND']);
    expect(await codeOf(await as(user, `/${name}`, 'DELETE'))).toEqual([404, 'FILE_NOT_FOUND']);
    expect((await list(user)).files).toEqual([]);
  });

  it('is for the owner and administrators', async () => {
    const [user, other, admin] = [
      await files.user(),
      await files.user(),
      await files.user({ role: 'admin' }),
    ];
    const [name, second] = await makeFiles(user, 2);
    expect(await codeOf(await as(other, `/${name}`, 'DELETE'))).toEqual([403, 'FORBIDDEN']);
    expect(await codeOf(await fetch(`${files.url}/${name}`, { method: 'DELETE' }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
    expect(await codeOf(await as(user, `/${name!.replace('.', '_64.')}`, 'DELETE'))).toEqual([
      404,
      'FILE_NOT_FOUND',
    ]);
    expect((await list(user)).files).toHaveLength(2);
    expect((await as(admin, `/${name}`, 'DELETE')).status).toBe(204);
    expect((await as(user, `/${second}`, 'DELETE')).status).toBe(204);
  });
});
