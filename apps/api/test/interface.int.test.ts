import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectStores } from '../../../scripts/testing/test-services.ts';
import { type ApiRig, openApiRig } from './outages/api-rig.ts';

interface Operation {
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
  readonly requestBody?: unknown;
}

const [store] = objectStores();
let api: ApiRig;
beforeAll(async () => {
  api = await openApiRig({ store: store!.options });
});
afterAll(() => api?.close());

const ask = (method: string, path: string) =>
  fetch(api.url + path, { method, headers: { authorization: api.authorization } });

describe('the paths of the API', () => {
  it.each([
    ['DELETE', '/', 'GET, HEAD, POST'],
    ['DELETE', '/quota', 'GET'],
    ['PUT', '/quota', 'GET'],
    ['HEAD', '/quota', 'GET'],
    ['GET', '/quota/set', 'POST'],
    ['DELETE', '/files', 'GET'],
    ['DELETE', '/graphql', 'GET, POST'],
    ['DELETE', '/openapi.json', 'GET'],
    ['PATCH', '/a.jpg', 'DELETE, GET, HEAD'],
  ])('have no %s at %s', async (method, path, allow) => {
    const answer = await ask(method, path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
  });

  it.each([
    ['/', 'GET, HEAD, POST'],
    ['/graphql', 'GET, POST'],
    ['/quota', 'GET'],
    ['/a.jpg', 'DELETE, GET, HEAD'],
  ])('tell their methods to OPTIONS: %s', async (path, allow) => {
    const answer = await ask('OPTIONS', path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([204, allow]);
  });

  it('still know a file that is not there from a path that is not', async () => {
    expect(await (await ask('DELETE', '/a.jpg')).json()).toMatchObject({ code: 'FILE_NOT_FOUND' });
    expect(await (await ask('DELETE', '/a/b/c')).json()).toMatchObject({ code: 'ROUTE_NOT_FOUND' });
  });
});

describe('the description of the API', () => {
  let paths: Record<string, Record<string, Operation>>;
  beforeAll(async () => {
    ({ paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as { paths: typeof paths });
  });
  const codes = (path: string, method: string, status: number) =>
    paths[path]?.[method]?.responses[status]?.description.replace(/^.*: |\.$/g, '').split(', ');

  it('lists at each operation the codes that it may give', () => {
    expect(codes('/{name}', 'get', 400)).toEqual([
      'INVALID_REQUEST',
      'UNSUPPORTED_PARAMETER',
      'INVALID_WIDTH',
      'THUMBNAIL_TOO_LARGE',
    ]);
    expect(codes('/quota/set', 'post', 415)).toEqual(['UNSUPPORTED_MEDIA_TYPE']);
    expect(codes('/quota/set', 'post', 413)).toEqual(['QUOTA_EXCEEDED', 'BODY_TOO_LARGE']);
    expect(codes('/', 'post', 413)).toEqual(['FILE_TOO_LARGE', 'QUOTA_EXCEEDED']);
    expect(codes('/', 'get', 401)).toEqual(['UNAUTHENTICATED']);
  });

  it('describes the files of an upload so that the page offers to choose them', () => {
    expect(paths['/']?.post?.requestBody).toMatchObject({
      content: {
        'multipart/form-data': {
          schema: {
            required: ['file'],
            properties: { file: { type: 'array', items: { type: 'string', format: 'binary' } } },
          },
        },
      },
    });
  });
});
