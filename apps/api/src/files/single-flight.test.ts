import { expect, test, vi } from 'vitest';
import { SingleFlight } from './single-flight.ts';

const never = new AbortController().signal;

test('those who ask at the same time share one piece of work', async () => {
  const flights = new SingleFlight<string>();
  const work = vi.fn(async () => 'done');
  const answers = await Promise.all(Array.from({ length: 16 }, () => flights.run('key', work, never)));
  expect(answers).toEqual(Array.from({ length: 16 }, () => 'done'));
  expect(work).toHaveBeenCalledOnce();
});

test('who asks later, or for something else, begins anew', async () => {
  const flights = new SingleFlight<number>();
  const work = vi.fn(async () => 1);
  await flights.run('key', work, never);
  await Promise.all([flights.run('key', work, never), flights.run('other', work, never)]);
  expect(work).toHaveBeenCalledTimes(3);
});

test('all share a failure, and the next one tries again', async () => {
  const flights = new SingleFlight<number>();
  const fail = () => Promise.reject(new Error('broken'));
  const failed = await Promise.allSettled([flights.run('key', fail, never), flights.run('key', fail, never)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(flights.run('key', async () => 2, never)).resolves.toBe(2);
});

test('one who leaves stops waiting, the others get their answer', async () => {
  const flights = new SingleFlight<string>();
  const gate = Promise.withResolvers<string>();
  let signal: AbortSignal | undefined;
  const work = (given: AbortSignal) => {
    signal = given;
    return gate.promise;
  };
  const [leaving, staying] = [new AbortController(), new AbortController()];
  const left = flights.run('key', work, leaving.signal);
  const stayed = flights.run('key', work, staying.signal);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  expect(signal?.aborted).toBe(false);
  gate.resolve('done');
  await expect(stayed).resolves.toBe('done');
});

test('when all have left the work is aborted, and nobody joins it any more', async () => {
  const flights = new SingleFlight<string>();
  const gate = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    signals.push(signal);
    return gate.promise;
  };
  const leaving = new AbortController();
  const left = flights.run('key', work, leaving.signal);
  await Promise.resolve();
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  const next = flights.run('key', work, never);
  gate.resolve('done');
  await expect(next).resolves.toBe('done');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});
