import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { parseArguments } from './bench/arguments.ts';
import { isMet, type Line, ratioOf } from './bench/line.ts';
import { PARTS } from './bench/parts/index.ts';
import { openRig } from './bench/rig/rig.ts';
import { formatTable } from './bench/table.ts';

/** Measures Stowage side by side with what else one could use. See scripts/bench/README.md. */
const asked = parseArguments(process.argv.slice(2), PARTS);
if (asked.kind === 'show') {
  console.log(asked.text);
  process.exit(asked.code);
}

const startedAt = performance.now();
const rig = await openRig(asked);
const measured: (Line & { part: string })[] = [];
let failed = false;
// Everything that was started goes down with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void rig.close().then(() => process.exit(1)));
try {
  for (const part of asked.parts) {
    const from = performance.now();
    rig.say(`${part.name}: ${part.about}`);
    try {
      const lines = await part.run(rig);
      measured.push(...lines.map((line) => ({ part: part.name, ...line })));
    } catch (error) {
      failed = true;
      console.error(`${part.name} failed:`, error);
    }
    rig.say(`  ${Math.round((performance.now() - from) / 1_000)} s`);
  }
} finally {
  await rig.close();
}

const machine = {
  processor: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryMb: Math.round(totalmem() / 2 ** 20),
  node: process.version,
};
console.log(`\n${machine.cores} × ${machine.processor}, ${machine.memoryMb} MB, Node ${machine.node}\n`);
console.log(formatTable(measured));
console.log(
  `\n${Math.round((performance.now() - startedAt) / 1_000)} s. The figures are in ${asked.output}.`,
);
const results = measured.map((line) => ({ ...line, ratio: ratioOf(line), met: isMet(line) }));
await writeFile(
  asked.output,
  `${JSON.stringify({ at: new Date().toISOString(), machine, results }, null, 2)}\n`,
);
process.exitCode = failed ? 1 : 0;
