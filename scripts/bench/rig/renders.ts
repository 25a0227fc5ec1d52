import { setTimeout as sleep } from 'node:timers/promises';
import type { Stowage } from './stowage.ts';
import { uploadBody } from './upload-body.ts';

const DEADLINE_MS = 180_000;

/** Uploads one picture so often, a few at once. Returns the stored names. */
export async function uploadPictures(stowage: Stowage, bytes: Buffer, times: number): Promise<string[]> {
  const body = uploadBody(bytes, 'picture.jpg');
  const names: string[] = [];
  while (names.length < times) {
    const group = Array.from({ length: Math.min(8, times - names.length) }, () =>
      stowage.client.upload(body),
    );
    names.push(...(await Promise.all(group)));
  }
  return names;
}

/** Resolves when no picture waits for its variants any more. */
export async function allRendered(stowage: Stowage): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while ((await countPending(stowage)) > 0) {
    if (Date.now() > deadline) throw new Error('the pictures were not rendered in time');
    await sleep(20);
  }
}

export async function countPending({ db }: Stowage): Promise<number> {
  const { count } = await db
    .selectFrom('files')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('render_state', '=', 'pending')
    .where('state', '=', 'stored')
    .executeTakeFirstOrThrow();
  return count;
}

/** Whether the variants of the file are there. */
export async function isRendered({ db }: Stowage, name: string): Promise<boolean> {
  const { render_state } = await db
    .selectFrom('files')
    .select('render_state')
    .where('stem', '=', name.slice(0, name.indexOf('.')))
    .executeTakeFirstOrThrow();
  return render_state === 'rendered';
}
