import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { memoryMb } from './bench/rig/processes.ts';
import { openRig } from './bench/rig/rig.ts';
import { startFlood } from './soak/flood.ts';
import { createMixture } from './soak/mixture.ts';
import { judgeMemory, type Sample } from './soak/verdict.ts';

/**
 * Sends an API twice the load that it can carry, and looks whether it refuses what is too much, and its memory stays.
 * `npm run soak [-- --minutes 10 --factor 2]`; exit 0 when it does.
 */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, factor: { type: 'string', default: '2' } },
});
const seconds = Number(values.minutes) * 60;
const factor = Number(values.factor);

const MEASURE_SECONDS = 15;
/** So many requests under way are enough for the API to be busy all the time. */
const BUSY = 32;
const MOST_UNDER_WAY = 1_000;
const SAMPLE_SECONDS = 5;
/** What a server may answer that has too much to do. */
const EXPECTED = new Set(['200', '503', 'not sent']);

const rig = await openRig({ images: undefined });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void rig.close().then(() => process.exit(1)));
try {
  await rig.withStowage({}, async (stowage) => {
    const next = await createMixture(stowage, await rig.pictures.small());
    const { url, apiPid } = stowage;

    const busy = startFlood({ url, next, perSecond: 100_000, mostUnderWay: BUSY });
    await sleep(MEASURE_SECONDS * 1_000);
    const carried = (busy.takeAnswers()['200'] ?? 0) / MEASURE_SECONDS;
    await busy.stop();
    const perSecond = Math.round(carried * factor);
    console.log(`It carries ${Math.round(carried)} requests a second; now it gets ${perSecond}.`);
    console.log('seconds  memory MB  under way  answers');

    const flood = startFlood({ url, next, perSecond, mostUnderWay: MOST_UNDER_WAY });
    const samples: Sample[] = [];
    const unexpected = new Map<string, number>();
    const startedAt = performance.now();
    for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - startedAt) / 1_000) {
      await sleep(SAMPLE_SECONDS * 1_000);
      const sample = { seconds: Math.round(elapsed), memoryMb: await memoryMb([apiPid]) };
      samples.push(sample);
      const answers = flood.takeAnswers();
      for (const [key, count] of Object.entries(answers))
        if (!EXPECTED.has(key)) unexpected.set(key, (unexpected.get(key) ?? 0) + count);
      console.log(
        `${String(sample.seconds).padStart(7)}  ${sample.memoryMb.toFixed(0).padStart(9)}  ${String(flood.underWay).padStart(9)}  ${JSON.stringify(answers)}`,
      );
    }
    await flood.stop();

    const { isFlat, middleMb, lastMb } = judgeMemory(samples);
    console.log(
      `Memory ${isFlat ? 'stayed' : 'grew'}: ${middleMb.toFixed(0)} MB in the middle third, ${lastMb.toFixed(0)} MB in the last.`,
    );
    for (const [key, count] of unexpected) console.log(`${count} answers were neither 200 nor 503: ${key}`);
    process.exitCode = isFlat && unexpected.size === 0 ? 0 : 1;
  });
} finally {
  await rig.close();
}
