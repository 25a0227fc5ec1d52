import type { Readable } from 'node:stream';

/** Destroys the stream with the signal's reason when it is aborted; forgets the signal when the stream is closed. */
export function destroyOnAbort(stream: Readable, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const onAbort = (): void => {
    stream.destroy(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  };
  if (signal.aborted) {
    onAbort();
    return;
  }
  signal.addEventListener('abort', onAbort, { once: true });
  stream.once('close', () => signal.removeEventListener('abort', onAbort));
}
