export interface StopSignals {
  /** Aborted by the first SIGTERM, SIGINT or SIGHUP, or when npm, which started us, is gone. */
  readonly stop: AbortSignal;
  /** Aborted by a later one: somebody does not want to wait. */
  readonly hurry: AbortSignal;
  /** Milliseconds since `stop` was aborted. */
  elapsedMs(): number;
}

/** Ctrl-C reaches us twice, from the terminal and passed on by npm: only later signals mean impatience. */
const SAME_KEYPRESS_MS = 1_000;
const PARENT_CHECK_MS = 500;

export function listenForStop(): StopSignals {
  const stop = new AbortController();
  const hurry = new AbortController();
  let firstAt = 0;
  const onSignal = () => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort();
    } else if (performance.now() - firstAt > SAME_KEYPRESS_MS) hurry.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);

  // A shell between npm and us may end without passing the signal on. Then our parent changes.
  if (process.env.npm_lifecycle_event !== undefined) {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      onSignal();
    }, PARENT_CHECK_MS);
    timer.unref();
  }
  return { stop: stop.signal, hurry: hurry.signal, elapsedMs: () => performance.now() - firstAt };
}
