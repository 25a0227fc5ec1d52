import { median } from './statistics.ts';

/**
 * Measures several ways in turn, round after round, so that whatever else the machine does meets all of them alike.
 * Returns the median of each. One round before the others does not count: caches fill, code is compiled.
 */
export async function alternate<K extends string>(
  rounds: number,
  ways: Readonly<Record<K, () => Promise<number>>>,
  { warmUp = true } = {},
): Promise<Record<K, number>> {
  // `ways` has exactly the keys K.
  const names = Object.keys(ways) as K[];
  const values = new Map<K, number[]>(names.map((name) => [name, []]));
  for (let round = warmUp ? -1 : 0; round < rounds; round += 1) {
    for (const name of names) {
      const value = await ways[name]();
      if (round >= 0) values.get(name)?.push(value);
    }
  }
  const medians = names.map((name) => [name, median(values.get(name) ?? [])] as const);
  return Object.fromEntries(medians) as Record<K, number>; // one entry for each of K
}
