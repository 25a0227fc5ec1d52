import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when the address answers 200; rejects when `signal` is aborted. Asks ten times a second. */
export async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) }).catch(
      () => undefined,
    );
    await answer?.body?.cancel();
    if (answer?.ok) return;
    // Its own error would hide the reason of the abort.
    await sleep(100, undefined, { signal }).catch(() => undefined);
  }
}

/** The address by which this machine reaches a server that listens on `host`. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
