import { Agent, request } from 'undici';

export interface FloodRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer;
}

/** How requests were answered, by status; `none` when the connection ended instead. */
export type Answers = Record<string, number>;

export interface Flood {
  /** Since the last call. */
  takeAnswers(): Answers;
  readonly underWay: number;
  stop(): Promise<void>;
}

export interface FloodOptions {
  readonly url: string;
  /** Requests a second, sent whether or not earlier ones were answered. */
  readonly perSecond: number;
  /** Most requests under way; those that would be more are `not sent`. */
  readonly mostUnderWay: number;
  readonly next: () => FloodRequest;
}

const TICK_MS = 20;
/** Longer than anything here may take. */
const PATIENCE_MS = 120_000;

/** Sends requests at a fixed rate, as a crowd does: it does not slow down because the server does. */
export function startFlood({ url, perSecond, mostUnderWay, next }: FloodOptions): Flood {
  const agent = new Agent({ connections: mostUnderWay, pipelining: 1 });
  let answers: Answers = {};
  let underWay = 0;
  let owed = 0;
  let lastTick = performance.now();
  const count = (key: string) => {
    answers[key] = (answers[key] ?? 0) + 1;
  };

  async function send({ method, path, headers, body }: FloodRequest): Promise<void> {
    underWay += 1;
    try {
      const answer = await request(`${url}${path}`, {
        method,
        headers: headers ?? {},
        body: body ?? null,
        dispatcher: agent,
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
      count(String(answer.statusCode));
    } catch {
      count('none');
    } finally {
      underWay -= 1;
    }
  }

  const timer = setInterval(() => {
    const now = performance.now();
    owed += ((now - lastTick) / 1_000) * perSecond;
    lastTick = now;
    for (; owed >= 1; owed -= 1) {
      if (underWay < mostUnderWay) void send(next());
      else count('not sent');
    }
  }, TICK_MS);

  return {
    takeAnswers() {
      const taken = answers;
      answers = {};
      return taken;
    },
    get underWay() {
      return underWay;
    },
    async stop() {
      clearInterval(timer);
      await agent.destroy();
    },
  };
}
