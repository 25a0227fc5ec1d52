import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { toAppError } from '../http/framework-errors.ts';
import { problemOf } from '../http/problem-details.ts';
import { RenderAdmission, type RenderAdmissionOptions } from './render-admission.ts';

const never = new AbortController().signal;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work of named clients that goes on until it is let go. */
function scene(options: RenderAdmissionOptions) {
  const admission = new RenderAdmission(options);
  const started: string[] = [];
  const gates = new Map<string, () => void>();
  const begin = (name: string, client: string, signal = never) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gates.set(name, resolve);
    const work = () => {
      started.push(name);
      return promise.then(() => name);
    };
    const result = admission.run(client, work, signal);
    // Tests that expect a rejection look at the promise itself.
    result.catch(() => {});
    return result;
  };
  const settle = () => vi.advanceTimersByTimeAsync(0);
  const end = async (name: string) => {
    gates.get(name)?.();
    await settle();
  };
  return { begin, end, started, settle };
}

test('as many run at once as there are slots, the others wait in order', async () => {
  const { begin, end, started, settle } = scene({ slots: 2 });
  for (const name of ['a', 'b', 'c', 'd']) void begin(name, name);
  await settle();
  expect(started).toEqual(['a', 'b']);
  await end('b');
  expect(started).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(started).toEqual(['a', 'b', 'c', 'd']);
});

test('a client at its bound is passed over, and goes on when its own work ends', async () => {
  const { begin, end, started, settle } = scene({ slots: 4, slotsPerClient: 2 });
  for (const name of ['a1', 'a2', 'a3']) void begin(name, 'a');
  void begin('b1', 'b');
  await settle();
  expect(started).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(started).toEqual(['a1', 'a2', 'b1']);
  await end('a1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('beyond the queue whoever waits longest is OVERLOADED, with the time after which to try again', async () => {
  const { begin, end, started } = scene({ slots: 1, queueLength: 2 });
  void begin('running', 'x');
  const oldest = begin('a', 'a').then(() => undefined, toAppError);
  void begin('b', 'b');
  void begin('c', 'c');
  const refusal = await oldest;
  expect(problemOf(refusal!, 'r')).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  await end('running');
  await end('c');
  expect(started).toEqual(['running', 'c', 'b']);
});

test('while the queue is full the newest goes first', async () => {
  const { begin, end, started } = scene({ slots: 1, queueLength: 3 });
  for (const name of ['running', 'a', 'b', 'c']) void begin(name, name);
  await end('running');
  await end('c');
  await end('a');
  expect(started).toEqual(['running', 'c', 'a', 'b']);
});

test('one client may not take the whole queue', async () => {
  const { begin, started, settle, end } = scene({ slots: 1, queueLength: 4 });
  void begin('a1', 'a');
  void begin('a2', 'a');
  void begin('a3', 'a');
  await expect(begin('a4', 'a')).rejects.toMatchObject({ code: 'OVERLOADED' });
  void begin('b1', 'b');
  await settle();
  for (const name of ['a1', 'a2', 'a3']) await end(name);
  expect(started).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('who waits too long is turned away, and its place in the queue is free again', async () => {
  const { begin, end, started } = scene({ slots: 1, queueLength: 2, maxWaitMs: 10_000 });
  void begin('running', 'x');
  const late = begin('late', 'a');
  await vi.advanceTimersByTimeAsync(10_000);
  await expect(late).rejects.toMatchObject({ code: 'OVERLOADED' });
  void begin('next', 'a');
  await end('running');
  expect(started).toEqual(['running', 'next']);
});

test('who leaves the queue gives up its place', async () => {
  const { begin, end, started } = scene({ slots: 1 });
  const leaving = new AbortController();
  void begin('running', 'x');
  const left = begin('left', 'a', leaving.signal);
  void begin('next', 'b');
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await end('running');
  expect(started).toEqual(['running', 'next']);
});

test('failed work gives its slot back', async () => {
  const admission = new RenderAdmission({ slots: 1 });
  await expect(admission.run('a', () => Promise.reject(new Error('broken')), never)).rejects.toThrow(
    'broken',
  );
  await expect(admission.run('a', async () => 'done', never)).resolves.toBe('done');
});

test('a client that asks for many does not keep another waiting for all of them', async () => {
  const { begin, end, started, settle } = scene({ slots: 2, slotsPerClient: 2 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) void begin(name, 'a');
  void begin('b1', 'b');
  void begin('b2', 'b');
  await settle();
  await end('a1');
  expect(started).toEqual(['a1', 'a2', 'b1']);
  await end('a2');
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
});
