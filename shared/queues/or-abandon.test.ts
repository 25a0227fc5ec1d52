import { expect, it } from 'vitest';
import { orAbandon } from './or-abandon.ts';

const never = () => new Promise<void>(() => undefined);
const stop = new Error('stop');

it('waits for work that nobody stops', async () => {
  await orAbandon(Promise.resolve(), new AbortController().signal, 0);
});

it('leaves work that does not notice its abort', async () => {
  const controller = new AbortController();
  const waiting = orAbandon(never(), controller.signal, 1);
  controller.abort(stop);
  await expect(waiting).rejects.toBe(stop);
});

it('leaves work that was begun after its abort', async () => {
  await expect(orAbandon(never(), AbortSignal.abort(stop), 1)).rejects.toBe(stop);
});

it('gives work the time to end by itself', async () => {
  const own = new Error('cleaned up');
  const controller = new AbortController();
  const work = new Promise<void>((_, reject) =>
    controller.signal.addEventListener('abort', () => reject(own)),
  );
  const waiting = orAbandon(work, controller.signal, 60_000);
  controller.abort(stop);
  await expect(waiting).rejects.toBe(own);
});
