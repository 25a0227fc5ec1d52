/** Sends load with autocannon as its parent says, tells it how that went, and ends. */
import autocannon, { type Client } from 'autocannon';

export interface LoadRequest {
  readonly url: string;
  readonly connections: number;
  /** How long, in s. */
  readonly seconds?: number;
  /** How many requests in all, instead of a time. */
  readonly amount?: number;
  /** Requests a second of all connections together. Default: as many as are answered. */
  readonly rate?: number;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Further headers of each connection, taken in turn. */
  readonly headersByConnection?: readonly Readonly<Record<string, string>>[];
  /** Paths of each connection, taken in turn by connection and then by request. Default: that of the URL. */
  readonly pathsByConnection?: readonly (readonly string[])[];
}

export interface LoadResult {
  /** Answers a second, of the status 2xx. */
  readonly perSecond: number;
  /** ms, of answers of the status 2xx. */
  readonly latenciesMs: readonly number[];
  /** Answers by status; 0 for connections that broke or timed out. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Of the answers with the status 503, how many said when to try again. */
  readonly retryAfter: number;
  readonly seconds: number;
}

process.once('message', (message) => {
  // Only load.ts starts this program, with a LoadRequest.
  run(message as LoadRequest).then(
    (result) => process.send?.(result, () => process.disconnect()),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function run(request: LoadRequest): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  const statuses: Record<number, number> = {};
  let retryAfter = 0;
  let clients = 0;
  const { headersByConnection = [], pathsByConnection = [] } = request;
  const setupClient = (client: Client) => {
    const number = clients;
    clients += 1;
    const own = headersByConnection[number % headersByConnection.length];
    const headers = { ...request.headers, ...own };
    const paths = pathsByConnection[number % pathsByConnection.length];
    if (paths !== undefined) client.setRequests(paths.map((path) => ({ path, headers })));
    else if (own !== undefined) client.setHeaders(headers);
    client.on('headers', ({ statusCode, headers: pairs }) => {
      if (statusCode !== 503) return;
      if (pairs.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'retry-after')) retryAfter += 1;
    });
  };
  const startedAt = performance.now();
  const running = autocannon({
    url: request.url,
    connections: request.connections,
    method: request.method ?? 'GET',
    headers: { ...request.headers },
    timeout: 300,
    setupClient,
    ...(request.amount === undefined ? { duration: request.seconds ?? 3 } : { amount: request.amount }),
    ...(request.rate !== undefined && { overallRate: request.rate }),
    ...(request.body !== undefined && { body: Buffer.from(request.body) }),
  });
  running.on('response', (_client, status, _bytes, ms) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status >= 200 && status < 300) latenciesMs.push(ms);
  });
  running.on('reqError', () => {
    statuses[0] = (statuses[0] ?? 0) + 1;
  });
  await running;
  const seconds = (performance.now() - startedAt) / 1_000;
  return { perSecond: latenciesMs.length / seconds, latenciesMs, statuses, retryAfter, seconds };
}
