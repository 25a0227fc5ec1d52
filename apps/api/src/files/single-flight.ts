interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** Does the same work once for all who ask for it at the same time. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /**
   * Joins the work under that key, or begins it. A caller whose signal is aborted stops waiting; when nobody waits
   * any more, the work's own signal is aborted.
   */
  run(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, work);
    flight.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        flight.waiting -= 1;
        if (flight.waiting === 0) {
          // Whoever comes from now on must not join work that is being given up.
          this.#end(key, flight);
          flight.controller.abort(signal.reason);
        }
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      flight.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    // The work starts once the flight is known, so that it may itself ask for the same key without a loop.
    const result = Promise.resolve().then(() => work(controller.signal));
    const flight = { result, controller, waiting: 0 };
    this.#flights.set(key, flight);
    const end = () => this.#end(key, flight);
    result.then(end, end);
    return flight;
  }

  #end(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}
