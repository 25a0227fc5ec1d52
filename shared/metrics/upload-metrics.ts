import { Counter, type Registry } from '@prometheus-io/client';

export interface UploadMetrics {
  /** An upload request that was stored. */
  stored(files: number, bytes: number): void;
  /** An upload request that was not stored; the code is that of its AppError. */
  refused(code: string): void;
}

/** Upload requests by outcome, and what was stored by them. */
export function createUploadMetrics(registry: Registry): UploadMetrics {
  const uploads = new Counter({
    name: 'stowage_uploads_total',
    help: 'Upload requests by outcome: stored, or the code of the error.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const files = new Counter({
    name: 'stowage_uploaded_files_total',
    help: 'Files stored by uploads.',
    registers: [registry],
  });
  const bytes = new Counter({
    name: 'stowage_uploaded_bytes_total',
    help: 'Bytes of files stored by uploads.',
    registers: [registry],
  });
  return {
    stored(count, size) {
      uploads.inc({ outcome: 'stored' });
      files.inc(count);
      bytes.inc(size);
    },
    refused: (code) => uploads.inc({ outcome: code }),
  };
}
