/** What the suite counts and what it objects to. */
export class Tally {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #violations: string[] = [];
  readonly #startedAt = performance.now();
  readonly #print: (line: string) => void;
  #round = '';

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  get violations(): readonly string[] {
    return this.#violations;
  }

  beginRound(name: string): void {
    this.#round = name;
  }

  count(table: string, row: string, by = 1): void {
    const rows = this.#counts.get(table) ?? new Map<string, number>();
    this.#counts.set(table, rows);
    rows.set(row, (rows.get(row) ?? 0) + by);
  }

  get(table: string, row: string): number {
    return this.#counts.get(table)?.get(row) ?? 0;
  }

  rows(table: string): readonly (readonly [string, number])[] {
    return [...(this.#counts.get(table) ?? [])].toSorted(([a], [b]) => a.localeCompare(b));
  }

  say(text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1).padStart(7);
    this.#print(`${seconds} s  ${text}`);
  }

  /** Something that must never be. The run goes on, and fails at its end. */
  violation(text: string): void {
    const line = `round ${this.#round}: ${text}`;
    if (this.#violations.includes(line)) return;
    this.#violations.push(line);
    this.say(`VIOLATION  ${line}`);
  }
}
