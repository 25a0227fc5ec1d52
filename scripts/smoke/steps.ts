import assert from 'node:assert/strict';

/** Counts and prints the steps of a tour. */
export interface Steps {
  /** Runs one step; a failure is printed and counted, and the tour goes on. What it returns is printed beside it. */
  step(title: string, run: () => Promise<unknown>): Promise<void>;
  /** How many steps have failed so far. */
  failed(): number;
  /** Prints the closing line and returns the exit code. */
  close(): number;
}

export function createSteps(print: (line: string) => void): Steps {
  let passed = 0;
  let failed = 0;
  return {
    async step(title, run) {
      const startedAt = performance.now();
      try {
        const note = await run();
        passed += 1;
        const took = `${Math.round(performance.now() - startedAt)} ms`;
        print(`ok      ${title} (${typeof note !== 'string' ? took : `${note}, ${took}`})`);
      } catch (error) {
        failed += 1;
        const reason = error instanceof assert.AssertionError ? error.message : String(error);
        print(`FAILED  ${title}\n        ${reason.replaceAll('\n', '\n        ')}`);
      }
    },
    failed: () => failed,
    close() {
      print(`${passed} passed, ${failed} failed`);
      return failed === 0 ? 0 : 1;
    },
  };
}
