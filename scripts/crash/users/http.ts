import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** What came back. A reply that was cut off counts as lost: nothing is known. */
export type Reply =
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly body: Buffer;
      readonly contentType: string;
    }
  | { readonly kind: 'lost'; readonly why: string };

export interface Ask {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | AsyncIterable<Buffer>;
}

/** After this, users give up on an answer. */
const PATIENCE_MS = 25_000;

const agent = new Agent({ headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS, connectTimeout: 5_000 });

/** Sends one request, once. Never rejects. */
export async function ask({ method, url, headers, body }: Ask): Promise<Reply> {
  try {
    const answer = await request(url, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(PATIENCE_MS * 2),
      ...(headers !== undefined && { headers }),
      body: typeof body === 'string' || body instanceof Buffer ? body : body ? Readable.from(body) : null,
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const contentType = String(answer.headers['content-type'] ?? '');
    return { kind: 'reply', status: answer.statusCode, body: bytes, contentType };
  } catch (error) {
    // A refused connection comes back at once: it must not become a loop.
    await sleep(50);
    return { kind: 'lost', why: error instanceof Error ? error.message : String(error) };
  }
}

/** The `code` of a problem+json reply. */
export function codeOf(reply: Reply): string {
  if (reply.kind === 'lost') return `lost: ${reply.why}`;
  try {
    const problem: unknown = JSON.parse(reply.body.toString());
    if (typeof problem === 'object' && problem !== null && 'code' in problem) return String(problem.code);
  } catch {
    // Not JSON.
  }
  return `${reply.status}`;
}

export async function closeConnections(): Promise<void> {
  await agent.destroy();
}
