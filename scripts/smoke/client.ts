import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the tour sends, over the network only. */
export interface Client {
  readonly baseUrl: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  send(method: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Sends one or more files as the parts `file`. */
  upload(files: readonly UploadFile[], headers: Record<string, string>): Promise<Response>;
  /** Runs a GraphQL operation and returns its data. Throws when there are errors. */
  graphql<T>(query: string, variables: Record<string, unknown>, headers?: Record<string, string>): Promise<T>;
}

export interface UploadFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function createClient(baseUrl: string): Client {
  return {
    baseUrl,
    get: (path, headers = {}) => fetch(`${baseUrl}${path}`, { headers }),
    send: (method, path, body, headers = {}) =>
      fetch(`${baseUrl}${path}`, {
        method,
        headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    upload(files, headers) {
      const form = new FormData();
      for (const { name, type, bytes } of files) form.append('file', new Blob([bytes], { type }), name);
      return fetch(`${baseUrl}/`, { method: 'POST', body: form, headers });
    },
    async graphql<T>(
      query: string,
      variables: Record<string, unknown>,
      headers: Record<string, string> = {},
    ) {
      const response = await fetch(`${baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query, variables }),
      });
      const answer = (await response.json()) as { data?: T; errors?: unknown[] }; // as GraphQL over HTTP says
      if (answer.errors !== undefined || answer.data === undefined || answer.data === null) {
        throw new Error(`GraphQL: ${response.status} ${JSON.stringify(answer.errors)}`);
      }
      return answer.data;
    },
  };
}

/** The token in the newest mail to the address, from the folder of mails; waits for the mail worker. */
export async function tokenFromMail(dataFolder: string, address: string): Promise<string> {
  const folder = join(dataFolder, 'mail');
  const deadline = Date.now() + 15_000;
  while (Date.now() < deadline) {
    for (const name of (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.eml'))) {
      // Quoted-printable breaks lines with `=` and writes `=` itself as `=3D`.
      const mail = (await readFile(join(folder, name), 'utf8')).replace(/=\r?\n/g, '').replaceAll('=3D', '=');
      const token = /token=([\w.~-]+)/.exec(mail)?.[1];
      if (token !== undefined && mail.includes(address)) return token;
    }
    await sleep(50);
  }
  throw new Error(`no mail to ${address} with a token in ${folder}`);
}
