export type ObjectBytes = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * The chunks of a body. An abort of the signal ends a wait for the next chunk at once, with the signal's reason,
 * and tells the body to stop. (`Promise.race` with one long-lived abort promise would keep every chunk in memory:
 * each race leaves a reaction behind.)
 */
export async function* interruptibleBody(body: ObjectBytes, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (body instanceof Uint8Array) {
    yield body;
    return;
  }

  const chunks = body[Symbol.asyncIterator]();
  let interrupt: ((reason: unknown) => void) | undefined;
  let ended = false;
  const next = (): Promise<IteratorResult<Uint8Array>> =>
    new Promise((resolve, reject) => {
      interrupt = reject;
      chunks.next().then(resolve, (error: unknown) => {
        ended = true;
        reject(error);
      });
    });
  const onAbort = (): void => interrupt?.(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const result = await next();
      if (result.done === true) {
        ended = true;
        return;
      }
      yield result.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a generator that hangs in its own await would answer only after that.
    if (!ended) void Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}
