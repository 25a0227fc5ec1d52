import { Gauge, type Registry } from '@prometheus-io/client';

/** What the last audit that came to its end has found. */
export interface AuditReading {
  /** By invariant. */
  readonly violations: Readonly<Record<string, number>>;
  /** Bytes by which quotas and ledgers differ from what files say, all users together. */
  readonly driftBytes: number;
  readonly finishedAt: Date;
}

/**
 * Shows the last audit, whichever process made it and however long ago: it is read anew for each scrape. While it
 * cannot be read, the one before stays.
 *
 * @param read resolves to undefined when there was no audit yet
 */
export function createAuditGauges(registry: Registry, read: () => Promise<AuditReading | undefined>): void {
  const registers = [registry];
  // The gauges are collected at the same time: one question does for all.
  let asked: Promise<AuditReading | undefined> | undefined;
  const latest = () => {
    asked ??= read()
      .catch(() => undefined)
      .finally(() => {
        asked = undefined;
      });
    return asked;
  };

  new Gauge({
    name: 'stowage_audit_violations',
    help: 'Violations of each invariant that the last audit found.',
    labelNames: ['invariant'],
    registers,
    async collect() {
      const reading = await latest();
      for (const [invariant, count] of Object.entries(reading?.violations ?? {}))
        this.set({ invariant }, count);
    },
  });
  new Gauge({
    name: 'stowage_audit_last_success_timestamp_seconds',
    help: 'When an audit last came to its end, whatever it found; 0 before the first.',
    registers,
    async collect() {
      const reading = await latest();
      if (reading !== undefined) this.set(reading.finishedAt.getTime() / 1_000);
    },
  });
  new Gauge({
    name: 'stowage_quota_drift_bytes',
    help: 'Bytes by which quotas and ledgers differed from what files and adjustments say, at the last audit.',
    registers,
    async collect() {
      const reading = await latest();
      if (reading !== undefined) this.set(reading.driftBytes);
    },
  });
}
