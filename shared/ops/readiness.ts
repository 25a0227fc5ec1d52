import type { Logger } from 'pino';
import { AppError } from '../errors/app-error.ts';
import { withDeadline } from '../queues/with-deadline.ts';

/** Something without which the process cannot do its work. */
export interface ReadinessCheck {
  /** As it is named in the answer: `database`, `queue`, `object_store`. */
  readonly name: string;
  /** Resolves when it is there. It is given up when the signal is aborted. */
  check(signal: AbortSignal): Promise<unknown>;
}

export interface CheckResult {
  readonly state: 'ok' | 'failed';
  readonly duration_ms: number;
  readonly error?: string;
}

export interface Readiness {
  readonly status: 'ready' | 'not_ready' | 'stopping';
  readonly checks: Readonly<Record<string, CheckResult>>;
}

export interface ReadinessOptions {
  readonly checks: readonly ReadinessCheck[];
  readonly logger: Logger;
  /** Each check's own, ms. */
  readonly deadlineMs: number;
  /** Aborted when the process was told to stop: from then on it wants no more work. */
  readonly stopping?: AbortSignal | undefined;
}

/** Asks everything that the process depends on, at once. Questions that come in together share one answer. */
export function createReadiness({ checks, logger, deadlineMs, stopping }: ReadinessOptions) {
  let asking: Promise<Readiness> | undefined;
  const wasOk = new Map<string, boolean>();

  /** A dependency that goes or comes back is worth a line; that it is still away is not. */
  const logChange = (name: string, { state, error }: CheckResult) => {
    const ok = state === 'ok';
    if (wasOk.get(name) === true && !ok) logger.warn({ check: name, reason: error }, 'not ready');
    if (wasOk.get(name) === false && ok) logger.info({ check: name }, 'ready again');
    wasOk.set(name, ok);
  };

  const ask = async (): Promise<Readiness> => {
    const results = await Promise.all(
      checks.map(async (check) => [check.name, await runCheck(check, deadlineMs)] as const),
    );
    for (const [name, result] of results) logChange(name, result);
    const ready = results.every(([, result]) => result.state === 'ok');
    return { status: ready ? 'ready' : 'not_ready', checks: Object.fromEntries(results) };
  };

  return {
    async read(): Promise<Readiness> {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      const answer = await asking;
      return stopping?.aborted ? { ...answer, status: 'stopping' } : answer;
    },
  };
}

async function runCheck(check: ReadinessCheck, deadlineMs: number): Promise<CheckResult> {
  const startedAt = performance.now();
  const durationMs = () => Math.round((performance.now() - startedAt) * 10) / 10;
  const deadline = AbortSignal.timeout(deadlineMs);
  try {
    await withDeadline(check.check(deadline), deadline);
    return { state: 'ok', duration_ms: durationMs() };
  } catch (error) {
    const reason = deadline.aborted ? `no answer within ${deadlineMs} ms` : describe(error);
    return { state: 'failed', duration_ms: durationMs(), error: reason };
  }
}

/** Drivers put addresses and names of users into their messages: those are not for whoever asks. */
function describe(error: unknown): string {
  if (error instanceof AppError) return error.code;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return 'failed';
}
