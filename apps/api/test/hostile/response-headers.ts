/**
 * The headers of every class of answers, by what is asked for. Whoever changes what a browser or a cache is told
 * changes it here too, on purpose. Values that differ from answer to answer are named: <bytes>, <uuid>, …
 */

/** Of every answer. What may be kept, or shown by a browser, replaces the two policies. */
const EVERY = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
  'x-request-id': '<uuid>',
  'cache-control': 'no-store',
};
/** When pages of other origins are named in the configuration. */
const CORS = {
  'access-control-allow-credentials': 'true',
  'access-control-expose-headers': 'ETag, Content-Range, Content-Disposition, Retry-After, X-Request-Id',
  vary: 'Origin',
};
const JSON_BODY = { 'content-type': 'application/json; charset=utf-8', 'content-length': '<bytes>' };
const PROBLEM = { 'content-type': 'application/problem+json', 'content-length': '<bytes>' };
/** Of stored files and their thumbnails. */
const FILE = {
  ...EVERY,
  ...CORS,
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'public, max-age=31536000, immutable',
  etag: '"<sha256>"',
};
const BYTES = { ...FILE, 'accept-ranges': 'bytes', 'content-length': '<bytes>' };
const PICTURE = {
  ...BYTES,
  'last-modified': '<date>',
  'content-type': 'image/png',
  'content-disposition': `inline; filename="a picture %22of%22 1 ?.png"; filename*=UTF-8''a%20picture%20%2522of%2522%201%20%E2%82%AC.png`,
};

export const RESPONSE_HEADERS: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  'the health check': {
    status: 200,
    ...EVERY,
    ...CORS,
    'content-length': '<bytes>',
    'content-type': 'text/plain; charset=utf-8',
    vary: 'Authorization',
  },
  'the current user': { status: 200, ...EVERY, ...CORS, ...JSON_BODY, vary: 'Authorization' },
  'an upload': {
    status: 200,
    ...EVERY,
    ...CORS,
    'content-length': '<bytes>',
    'content-type': 'text/plain; charset=utf-8',
  },
  'an upload, as JSON': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'a list of files': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'the details of a file': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'a quota': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'a deletion': { status: 204, ...EVERY, ...CORS },
  'a picture': { status: 200, ...PICTURE },
  'a picture, by HEAD': { status: 200, ...PICTURE },
  'a part of a picture': { status: 206, ...PICTURE, 'content-range': 'bytes 0-9/<bytes>' },
  'a picture that the reader has': { status: 304, ...FILE, 'last-modified': '<date>' },
  'a range beyond the end': {
    status: 416,
    ...EVERY,
    ...CORS,
    ...PROBLEM,
    'accept-ranges': 'bytes',
    'content-range': 'bytes */<bytes>',
  },
  'a text': {
    status: 200,
    ...BYTES,
    'content-disposition': 'inline; filename=notes.txt',
    'content-type': 'text/plain; charset=utf-8',
    'last-modified': '<date>',
  },
  'a PDF': {
    status: 200,
    ...BYTES,
    'content-disposition': 'attachment; filename=paper.pdf',
    'content-type': 'application/pdf',
    'last-modified': '<date>',
  },
  'a thumbnail': {
    status: 200,
    ...BYTES,
    'content-disposition': 'inline; filename=<stem>_64.png',
    'content-type': 'image/png',
  },
  'a thumbnail as WebP': {
    status: 200,
    ...BYTES,
    'content-disposition': 'inline; filename=<stem>_64.webp',
    'content-type': 'image/webp',
  },
  'a thumbnail that the worker is still to make': {
    status: 200,
    ...BYTES,
    'cache-control': 'public, max-age=60',
    'content-disposition': 'inline; filename=<stem>_64.png',
    'content-type': 'image/png',
  },
  'a thumbnail that the reader has': { status: 304, ...FILE },
  '400, of a path': { status: 400, ...EVERY, ...PROBLEM },
  '400, of a width': { status: 400, ...EVERY, ...CORS, ...PROBLEM },
  '400, of no request': { status: 400, ...EVERY, ...PROBLEM },
  401: { status: 401, ...EVERY, ...CORS, ...PROBLEM, vary: 'Authorization', 'www-authenticate': 'Bearer' },
  403: { status: 403, ...EVERY, ...CORS, ...PROBLEM },
  '404, of a file': { status: 404, ...EVERY, ...CORS, ...PROBLEM },
  '404, of a route': { status: 404, ...EVERY, ...CORS, ...PROBLEM },
  405: { status: 405, ...EVERY, ...CORS, ...PROBLEM, allow: 'GET' },
  413: { status: 413, ...EVERY, ...CORS, ...PROBLEM },
  414: { status: 414, ...EVERY, ...PROBLEM },
  415: { status: 415, ...EVERY, ...CORS, ...PROBLEM },
  431: { status: 431, ...EVERY, ...PROBLEM },
  503: { status: 503, ...EVERY, ...CORS, ...PROBLEM, 'retry-after': '2' },
  OPTIONS: { status: 204, ...EVERY, allow: 'GET' },
  'an answer of GraphQL': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'a login': {
    status: 200,
    ...EVERY,
    ...CORS,
    ...JSON_BODY,
    'set-cookie': 'refresh_token=<token>; Max-Age=2592000; Path=/graphql; HttpOnly; SameSite=Strict',
  },
  'a logout': {
    status: 200,
    ...EVERY,
    ...CORS,
    ...JSON_BODY,
    'set-cookie': 'refresh_token=; Max-Age=0; Path=/graphql; HttpOnly; SameSite=Strict',
  },
  'a body that is not GraphQL': { status: 415, ...EVERY, ...CORS, ...PROBLEM },
  'the page of GraphQL': {
    status: 200,
    ...EVERY,
    ...CORS,
    'content-length': '<bytes>',
    'content-security-policy':
      "default-src 'none'; script-src 'nonce-<nonce>'; style-src 'nonce-<nonce>'; font-src data:; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'content-type': 'text/html; charset=utf-8',
  },
  'a script of that page': {
    status: 200,
    ...EVERY,
    ...CORS,
    'cache-control': 'public, max-age=31536000, immutable',
    'content-length': '<bytes>',
    'content-type': 'text/javascript; charset=utf-8',
  },
  'the description of the API': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'its page': {
    status: 200,
    ...EVERY,
    ...CORS,
    'content-length': '<bytes>',
    'content-security-policy':
      "default-src 'none'; connect-src 'self'; font-src 'self' data:; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none';",
    'content-type': 'text/html; charset=utf-8',
  },
  'a script of its page': {
    status: 200,
    ...EVERY,
    ...CORS,
    'accept-ranges': 'bytes',
    'cache-control': 'public, max-age=0',
    'content-length': '<bytes>',
    'content-security-policy':
      "default-src 'none'; connect-src 'self'; font-src 'self' data:; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none';",
    'content-type': 'application/javascript; charset=utf-8',
    etag: 'W/"<time>"',
    'last-modified': '<date>',
  },
  'the keys of tokens': {
    status: 200,
    ...EVERY,
    ...CORS,
    ...JSON_BODY,
    'cache-control': 'public, max-age=300',
  },
  'a preflight of an allowed page': {
    status: 204,
    ...EVERY,
    ...CORS,
    'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
    'access-control-allow-origin': 'https://app.example.org',
    'access-control-max-age': '600',
    'content-length': '<bytes>',
    vary: 'Origin, Access-Control-Request-Headers',
  },
  'an answer to an allowed page': {
    status: 200,
    ...EVERY,
    ...CORS,
    ...JSON_BODY,
    'access-control-allow-origin': 'https://app.example.org',
  },
  'an answer to a foreign page': { status: 200, ...EVERY, ...CORS, ...JSON_BODY },
  'the health check, where clients come by https': {
    status: 200,
    ...EVERY,
    'content-length': '<bytes>',
    'content-type': 'text/plain; charset=utf-8',
    'strict-transport-security': 'max-age=31536000',
    vary: 'Authorization',
  },
  'a login after too many failures': {
    status: 200,
    ...EVERY,
    ...JSON_BODY,
    'retry-after': '<seconds>',
    'strict-transport-security': 'max-age=31536000',
  },
  'a login, where clients come by https': {
    status: 200,
    ...EVERY,
    ...JSON_BODY,
    'set-cookie': 'refresh_token=<token>; Max-Age=2592000; Path=/graphql; HttpOnly; SameSite=Strict; Secure',
    'strict-transport-security': 'max-age=31536000',
  },
};
