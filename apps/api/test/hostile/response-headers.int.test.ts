import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePicture } from '../../../../scripts/testing/pictures.ts';
import { waitFor } from '../../../../scripts/testing/wait-for.ts';
import { uploadHead } from '../raw-client.ts';
import { RESPONSE_HEADERS } from './response-headers.ts';
import { openService, PASSWORD, type Person, type Service } from './service.ts';

const APP = 'https://app.example.org';

let service: Service;
let secure: Service;
let person: Person;
let picture: string;
let text: string;
let pdf: string;
let rendered: string;

beforeAll(async () => {
  service = await openService({ settings: { corsOrigins: [APP] } });
  secure = await openService({ settings: { publicUrl: 'https://files.example.org' }, throttles: true });
  person = await service.person('reader');
  const bytes = await makePicture({ width: 200, height: 100, format: 'png' });
  picture = await service.store(person, bytes, 'a picture "of" 1 €.png');
  rendered = await service.store(person, bytes, 'rendered.png');
  await service.db
    .updateTable('files')
    .set({ render_state: 'rendered' })
    .where('stem', '=', rendered.split('.')[0]!)
    .execute();
  text = await service.store(person, 'text', 'notes.txt');
  pdf = await service.store(person, '%PDF-1.4\n', 'paper.pdf');
});
afterAll(async () => {
  await service?.close();
  await secure?.close();
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(service.url + path, { method, headers });
const sized = (name: string, width: number) => name.replace('.', `_${width}.`);
const upload = (headers: Record<string, string>, file = new Blob(['x'])) => {
  const body = new FormData();
  body.append('file', file, 'a.txt');
  return fetch(service.url, { method: 'POST', headers, body });
};
/** A request that fetch would not send. */
async function raw(request: string): Promise<Response> {
  const client = await service.raw(request);
  await client.untilClosed();
  const [head = '', body = ''] = client.received().split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  return new Response(body, { status: Number(status.split(' ')[1]), headers });
}

const requests: Record<string, () => Promise<Response>> = {
  'the health check': () => get('/'),
  'the current user': () => get('/', person.auth),
  'an upload': () => upload(person.auth),
  'an upload, as JSON': () => upload({ ...person.auth, accept: 'application/json' }),
  'a list of files': () => get('/files', person.auth),
  'the details of a file': () => get(`/files/${picture}`, person.auth),
  'a quota': () => get(`/quota?user_id=${person.id}`, person.auth),
  'a deletion': async () => get(`/${await service.store(person, 'doomed')}`, person.auth, 'DELETE'),

  'a picture': () => get(`/${picture}`),
  'a picture, by HEAD': () => get(`/${picture}`, {}, 'HEAD'),
  'a part of a picture': () => get(`/${picture}`, { range: 'bytes=0-9' }),
  'a picture that the reader has': () =>
    get(`/${picture}`, { 'if-modified-since': new Date(Date.now() + 1e6).toUTCString() }),
  'a range beyond the end': () => get(`/${picture}`, { range: 'bytes=99999999-' }),
  'a text': () => get(`/${text}`),
  'a PDF': () => get(`/${pdf}`),
  'a thumbnail': () => get(`/${sized(rendered, 64)}`),
  'a thumbnail as WebP': () => get(`/${sized(rendered, 64)}/webp`),
  'a thumbnail that the worker is still to make': () => get(`/${sized(picture, 64)}`),
  'a thumbnail that the reader has': async () => {
    const { headers } = await get(`/${sized(rendered, 64)}`);
    return get(`/${sized(rendered, 64)}`, { 'if-none-match': headers.get('etag')! });
  },

  '400, of a path': () => get('/%zz'),
  '400, of a width': () => get(`/${sized(picture, 0)}`),
  '400, of no request': () => raw('nonsense\r\n\r\n'),
  '401': () => get('/', { authorization: 'Bearer x' }),
  '403': () => get('/quota?user_id=somebody', person.auth),
  '404, of a file': () => get(`/${'0'.repeat(26)}.png`),
  '404, of a route': () => get('/no/such/path'),
  '405': () => get('/quota', {}, 'PUT'),
  '413': () => upload(person.auth, new Blob(['x'.repeat(1_000_001)])),
  '414': () => get(`/${'x'.repeat(2_000)}`),
  '415': () => upload(person.auth, new Blob(['<html>'])),
  '431': () => raw(`GET / HTTP/1.1\r\nhost: h\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`),
  503: async () => {
    const head = uploadHead({ token: person.token, headers: ['idempotency-key: under-way'] });
    const first = await service.raw(head);
    const begun = service.db.selectFrom('uploads').select('id').where('idempotency_key', '=', 'under-way');
    await waitFor(() => begun.executeTakeFirst());
    const answer = await upload({ ...person.auth, 'idempotency-key': 'under-way' });
    first.close();
    return answer;
  },
  OPTIONS: () => get('/quota', {}, 'OPTIONS'),

  'an answer of GraphQL': () => service.graphql('{ __typename }'),
  'a login': () =>
    service.graphql(
      `mutation { login(params: { email: "${person.email}", password: "${PASSWORD}" }) { statusCode } }`,
    ),
  'a logout': async () => {
    const { auth } = await service.logIn(person.email);
    return service.graphql('mutation { logout { statusCode } }', {}, auth);
  },
  'a body that is not GraphQL': () => service.graphql('', {}, { 'content-type': 'text/plain' }),
  'the page of GraphQL': () => get('/graphql', { accept: 'text/html' }),
  'a script of that page': async () => {
    const page = await (await get('/graphql', { accept: 'text/html' })).text();
    return get(`/${/src="(graphql\/[0-9a-f]+\/start\.js)"/.exec(page)?.[1]}`);
  },
  'the description of the API': () => get('/openapi.json'),
  'its page': () => get('/docs/'),
  'a script of its page': () => get('/docs/static/swagger-ui.js'),
  'the keys of tokens': () => get('/.well-known/jwks.json'),

  'a preflight of an allowed page': () =>
    get('/quota', { origin: APP, 'access-control-request-method': 'GET' }, 'OPTIONS'),
  'an answer to an allowed page': () => get(`/quota?user_id=${person.id}`, { ...person.auth, origin: APP }),
  'an answer to a foreign page': () =>
    get(`/quota?user_id=${person.id}`, { ...person.auth, origin: 'https://evil.example.org' }),
  'the health check, where clients come by https': () => fetch(secure.url),
  'a login after too many failures': async () => {
    const fail = () =>
      secure.graphql(
        'mutation { login(params: { email: "nobody@example.org", password: "x" }) { statusCode } }',
      );
    for (let failures = 0; failures < 5; failures += 1) await fail();
    return fail();
  },
  'a login, where clients come by https': async () => {
    const { email } = await secure.person('reader');
    return secure.graphql(
      `mutation { login(params: { email: "${email}", password: "${PASSWORD}" }) { statusCode } }`,
    );
  },
};

/** What differs from answer to answer is named, not compared. */
function comparable(name: string, value: string): string {
  switch (name) {
    case 'content-length':
      return '<bytes>';
    case 'content-security-policy':
      return value.replaceAll(/nonce-[\w+/]{22}==/g, 'nonce-<nonce>');
    case 'content-range':
      return value.replace(/\d+$/, '<bytes>');
    case 'last-modified':
      return '<date>';
    case 'retry-after':
      return Number(value) > 2 ? '<seconds>' : value;
    case 'x-request-id':
      return value.replace(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '<uuid>');
    case 'etag':
      return value.replace(/^"[0-9a-f]{64}"$/, '"<sha256>"').replace(/^W\/"[0-9a-f-]+"$/, 'W/"<time>"');
    case 'set-cookie':
      return value.replace(/=[0-9a-f-]{36}\.\d+\.[\w-]{43};/, '=<token>;');
    default:
      return value
        .replaceAll(/\b[0-9a-hjkmnp-tv-z]{26}\b/g, '<stem>')
        .replaceAll(/\b[0-9a-hjkmnp-tv-z]{26}_/g, '<stem>_');
  }
}

describe('the headers of', () => {
  it('every class of answers are in the table, and no others', () => {
    expect(Object.keys(requests).toSorted()).toEqual(Object.keys(RESPONSE_HEADERS).toSorted());
  });

  it.each(Object.entries(requests))('%s are those of the table', async (name, request) => {
    const answer = await request();
    await answer.arrayBuffer();
    const headers: Record<string, string> = {};
    // These are about the connection and the moment.
    for (const [header, value] of answer.headers)
      if (!['date', 'connection', 'keep-alive', 'transfer-encoding'].includes(header))
        headers[header] = comparable(header, value);
    expect({ status: answer.status, ...headers }).toEqual(RESPONSE_HEADERS[name]);
  });
});
