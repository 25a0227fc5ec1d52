import { collectDefaultMetrics, Registry } from '@prometheus-io/client';
import { createHttpMetrics, type HttpMetrics } from './http-metrics.ts';
import { createJobMetrics, type JobMetrics } from './job-metrics.ts';
import { createRelayMetrics, type RelayMetrics } from './relay-metrics.ts';
import { createRenderMetrics, type RenderMetrics } from './render-metrics.ts';
import { createUploadMetrics, type UploadMetrics } from './upload-metrics.ts';

/** What one process counts and measures. It is shown at /metrics of the process's ops port. */
export interface Metrics {
  readonly registry: Registry;
  readonly http: HttpMetrics;
  readonly uploads: UploadMetrics;
  readonly renders: RenderMetrics;
  readonly jobs: JobMetrics;
  readonly relay: RelayMetrics;
}

/**
 * A registry of its own with Stowage's metrics and those of the process.
 *
 * @param processName on every series as `process`, so that the processes of one machine can be told apart
 */
export function createMetrics(processName: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ process: processName });
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    http: createHttpMetrics(registry),
    uploads: createUploadMetrics(registry),
    renders: createRenderMetrics(registry),
    jobs: createJobMetrics(registry),
    relay: createRelayMetrics(registry),
  };
}
