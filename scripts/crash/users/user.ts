import type { Random } from '../random.ts';
import type { Tally } from '../tally.ts';
import type { Account } from './account.ts';
import { type Content, type Contents, sha256 } from './contents.ts';
import { type Ask, ask, codeOf, type Reply } from './http.ts';
import type { KeptFile, UploadAttempt, UserBook } from './oracle.ts';

export interface UserDeps {
  readonly name: string;
  readonly account: Account;
  readonly book: UserBook;
  readonly contents: Contents;
  readonly baseUrls: readonly string[];
  /** Whether the API's process at this address had trouble reaching Postgres just now. */
  readonly isBlind: (baseUrl: string) => boolean;
  readonly random: Random;
  readonly tally: Tally;
}

const BOUNDARY = 'crash-suite-boundary';
const CHUNK_BYTES = 64 * 1024;

/** One user of the API: asks, and writes into the book what was acknowledged. */
export class User {
  readonly name: string;
  readonly book: UserBook;
  readonly contents: Contents;
  readonly baseUrls: readonly string[];
  readonly tally: Tally;
  readonly isBlind: (baseUrl: string) => boolean;
  readonly #account: Account;
  readonly #random: Random;

  constructor(deps: UserDeps) {
    this.name = deps.name;
    this.book = deps.book;
    this.contents = deps.contents;
    this.baseUrls = deps.baseUrls;
    this.tally = deps.tally;
    this.isBlind = deps.isBlind;
    this.#account = deps.account;
    this.#random = deps.random;
  }

  get id(): string {
    return this.book.id;
  }

  /**
   * Sends an upload once.
   * `done`: acknowledged. `refused`: definitely not stored. `unsure`: to be repeated with its key.
   */
  async tryUpload(attempt: UploadAttempt, baseUrl?: string): Promise<'done' | 'refused' | 'unsure'> {
    const files = attempt.contents.map((content) => ({ content, bytes: this.contents.bytesOf(content) }));
    const body = multipart(files);
    this.tally.count('uploads', 'requests sent');
    const reply = await this.send({
      method: 'POST',
      path: '/',
      headers: {
        'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
        'idempotency-key': attempt.key,
      },
      body: attempt.chunked ? inChunks(body) : body,
      ...(baseUrl !== undefined && { baseUrl }),
    });
    if (isUncertain(reply)) {
      this.tally.count('uploads', reply.kind === 'lost' ? 'replies lost' : `replies ${codeOf(reply)}`);
      attempt.unsure = true;
      if (!attempt.acknowledged) this.book.unsettled.add(attempt);
      return 'unsure';
    }
    if (reply.status === 200) {
      this.#acknowledge(
        attempt,
        files.map(({ content, bytes }) => ({ content, hash: sha256(bytes) })),
        reply.body.toString().split('\n'),
      );
      return 'done';
    }
    if (reply.status !== 413)
      this.tally.violation(`${this.name}: an upload was answered ${reply.status} ${codeOf(reply)}`);
    // An earlier request with this key may still be under way in a process that is paused.
    return attempt.unsure ? 'unsure' : 'refused';
  }

  #acknowledge(
    attempt: UploadAttempt,
    files: readonly { content: Content; hash: string }[],
    names: readonly string[],
  ): void {
    if (!attempt.acknowledged) {
      this.tally.count('uploads', 'acknowledged');
      if (attempt.unsure) this.tally.count('uploads', 'acknowledged when repeated with their key');
      this.tally.count(
        'uploads',
        'bytes acknowledged',
        files.reduce((sum, { content }) => sum + content.sizeBytes, 0),
      );
    }
    attempt.acknowledged = true;
    this.book.unsettled.delete(attempt);
    if (names.length !== files.length) {
      this.tally.violation(
        `${this.name}: an upload of ${files.length} files was answered ${names.join(' ')}`,
      );
      return;
    }
    for (const [index, { content, hash }] of files.entries()) {
      const name = names[index] ?? '';
      const known = this.book.files.get(name);
      if (known !== undefined && known.sha256 !== hash)
        this.tally.violation(`${this.name}: the name ${name} was given to two files`);
      this.book.acknowledge({
        name,
        sha256: hash,
        sizeBytes: content.sizeBytes,
        isPicture: content.kind === 'picture',
      });
    }
  }

  /** Sends a deletion once. `gone`: it is acknowledged, now or before. */
  async tryDelete(file: KeptFile): Promise<'gone' | 'unsure'> {
    const repeated = file.state === 'unsure';
    file.state = 'unsure';
    const reply = await this.send({ method: 'DELETE', path: `/${file.name}` });
    if (isUncertain(reply)) return 'unsure';
    if (reply.status !== 204 && !(repeated && reply.status === 404)) {
      this.tally.violation(`${this.name}: the deletion of ${file.name} was answered ${codeOf(reply)}`);
      return 'unsure';
    }
    file.state = 'deleted';
    this.tally.count('deletions', 'acknowledged');
    return 'gone';
  }

  /** The user's quota record, or undefined when there was no answer. */
  async readQuota(): Promise<{ current_quota: number; max_quota: number } | undefined> {
    const reply = await this.send({ method: 'GET', path: `/quota?user_id=${this.id}` });
    if (isUncertain(reply)) return undefined;
    if (reply.status === 200) return JSON.parse(reply.body.toString());
    this.tally.violation(`${this.name}: GET /quota was answered ${codeOf(reply)}`);
    return undefined;
  }

  /** Changes a quota once: a record, a definite refusal, or no definite answer. */
  async changeQuota(
    path: '/quota/increase' | '/quota/set' | '/quota/limit',
    body: Readonly<Record<string, string | number>>,
  ): Promise<{ current_quota: number; max_quota: number } | 'refused' | 'unsure'> {
    const reply = await this.send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (isUncertain(reply)) return 'unsure';
    if (reply.status === 200) return JSON.parse(reply.body.toString());
    if (reply.status === 413) return 'refused';
    this.tally.violation(`${this.name}: POST ${path} was answered ${codeOf(reply)}`);
    return 'refused';
  }

  /** Sends a request in the user's name, to one of the API's processes unless `baseUrl` says which. */
  async send(request: Omit<Ask, 'url'> & { path: string; baseUrl?: string }): Promise<Reply> {
    const { path, baseUrl = this.#random.pick(this.baseUrls), headers, ...rest } = request;
    const authorization = await this.#account.authorization();
    return await ask({ ...rest, url: `${baseUrl}${path}`, headers: { ...headers, authorization } });
  }
}

/** A reply that is missing, or a 5xx: what was asked may have been done all the same. */
export function isUncertain(
  reply: Reply,
): reply is Extract<Reply, { kind: 'lost' }> | (Extract<Reply, { kind: 'reply' }> & { status: 500 | 503 }) {
  return reply.kind === 'lost' || reply.status === 500 || reply.status === 503;
}

function multipart(files: readonly { content: Content; bytes: Buffer }[]): Buffer {
  const parts = files.flatMap(({ content, bytes }) => [
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${content.fileName}"\r\n` +
        'content-type: application/octet-stream\r\n\r\n',
    ),
    bytes,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
