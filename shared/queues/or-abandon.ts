/**
 * Waits for work that was asked to stop by its signal, but not for ever: if it has not ended so long after the
 * abort, it is left to itself.
 *
 * @throws the signal's reason when the work is abandoned
 */
export async function orAbandon(work: Promise<void>, signal: AbortSignal, afterMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const abandoned = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), afterMs);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([work, abandoned]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
  }
}
