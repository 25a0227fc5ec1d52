import { buildClientSchema, getIntrospectionQuery, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountsClient, type AccountsFixture, openAccounts } from './accounts-fixture.ts';

let accounts: AccountsFixture;
let client: AccountsClient;

beforeAll(async () => {
  accounts = await openAccounts();
  client = await accounts.start();
});
afterAll(() => accounts?.close());

const get = (url: string, accept = 'text/html,*/*;q=0.8', from = client) =>
  from.app.inject({ url, headers: { accept } });

/** The addresses that the page loads, in order. */
const referencesOf = (page: string) =>
  [...page.matchAll(/<(?:link|script)[^>]+(?:href|src)="([^"]+)"/g)]
    .map(([, reference]) => new URL(reference!, 'http://stowage.test/graphql'))
    .filter(({ protocol }) => protocol !== 'data:');

describe('GraphiQL', () => {
  it('comes whole from this server, each file at an address that says its content', async () => {
    const page = await get('/graphql');
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['cache-control']).toBe('no-store');
    const references = referencesOf(page.body);
    const names = references.map(({ pathname }) => pathname.split('/').at(-1));
    expect(names).toEqual([
      'graphiql.css',
      'page.css',
      'react.js',
      'react-dom.js',
      'graphiql.js',
      'start.js',
    ]);
    for (const { host, pathname } of references) {
      expect(host).toBe('stowage.test');
      expect(pathname).toMatch(/^\/graphql\/[0-9a-f]{16}\/[^/]+$/);
      const file = await get(pathname, '*/*');
      expect(file.statusCode).toBe(200);
      const type = pathname.endsWith('.css') ? 'text/css' : 'text/javascript';
      expect(file.headers['content-type']).toBe(`${type}; charset=utf-8`);
      expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
  });

  it('is the real one, and not a page of ours', async () => {
    const script = referencesOf((await get('/graphql')).body).find(({ pathname }) =>
      pathname.endsWith('graphiql.js'),
    );
    expect((await get(script!.pathname, '*/*')).body).toContain('.GraphiQL=');
  });

  it('has a policy that lets nothing run but what this very answer names', async () => {
    const [first, second] = [await get('/graphql'), await get('/graphql')];
    const policy = String(first.headers['content-security-policy']);
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|script-src[^;]*'self'/);
    expect(first.body.split(`nonce="${nonce}"`)).toHaveLength(7);
    expect(first.body).not.toMatch(/<style|<script[^>]*>[^<]|style=/);
    expect(second.headers['content-security-policy']).not.toBe(policy);
  });

  it('may ask for the schema', async () => {
    const options = { schemaDescription: true, inputValueDeprecation: true, specifiedByUrl: true };
    expect((await client.post(getIntrospectionQuery(options))).json().errors).toBeUndefined();
  });

  it('opens with examples that the schema allows', async () => {
    const start = referencesOf((await get('/graphql')).body).at(-1);
    const source = (await get(start!.pathname, '*/*')).body;
    const props = propsOf(source);
    const schema = buildClientSchema((await client.post(getIntrospectionQuery())).json().data);
    expect(props.isHeadersEditorEnabled).toBe(true);
    expect(props.defaultTabs.length).toBeGreaterThan(0);
    for (const { query } of props.defaultTabs) expect(validate(schema, parse(query))).toEqual([]);
  });

  it('is not for clients that ask for something else', async () => {
    expect((await get('/graphql', '*/*')).statusCode).toBe(405);
  });

  it('is off with introspection, files and all', async () => {
    const closed = await accounts.start({ introspection: false });
    expect((await get('/graphql', 'text/html', closed)).statusCode).toBe(405);
    for (const { pathname } of referencesOf((await get('/graphql')).body))
      expect((await get(pathname, '*/*', closed)).statusCode).toBe(404);
  });
});

interface Props {
  isHeadersEditorEnabled: boolean;
  defaultTabs: { query: string }[];
}

/** What the page's own script gives to GraphiQL: it is run with stand-ins for the browser and React. */
function propsOf(source: string): Props {
  let props: Props | undefined;
  const scope = {
    globalThis: {
      GraphiQL: {},
      React: { createElement: (_: unknown, given: Props) => given },
      ReactDOM: { createRoot: () => ({ render: (given: Props) => (props = given) }) },
    },
    document: { currentScript: { nonce: 'n' }, getElementById: () => null },
    sessionStorage: {},
  };
  new Function(...Object.keys(scope), source)(...Object.values(scope));
  return props!;
}
