/**
 * Waits for a promise, but not longer than the signal allows. What the promise stands for is not stopped.
 * @throws the signal's reason when it is aborted first
 */
export async function withDeadline<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // It may still fail, when nobody waits for it any more.
    work.catch(() => undefined);
  }
}
