import { Counter, Histogram, type Registry } from '@prometheus-io/client';

/** Why a picture was rendered: by the worker ahead of time, or for a request that could not wait. */
export type RenderCause = 'job' | 'request';

export interface RenderMetrics {
  /** The outcome is `ok` or the code of the AppError. */
  rendered(cause: RenderCause, outcome: string, seconds: number): void;
}

/** Renders by cause and outcome, and how long they took in the child process. */
export function createRenderMetrics(registry: Registry): RenderMetrics {
  const renders = new Counter({
    name: 'stowage_renders_total',
    help: 'Renders by cause (job, request) and outcome: ok, or the code of the error.',
    labelNames: ['cause', 'outcome'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'stowage_render_duration_seconds',
    help: 'Time of a render by cause, waiting for a free child not included.',
    labelNames: ['cause'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 10, 30],
    registers: [registry],
  });
  return {
    rendered(cause, outcome, seconds) {
      renders.inc({ cause, outcome });
      durations.observe({ cause }, seconds);
    },
  };
}
