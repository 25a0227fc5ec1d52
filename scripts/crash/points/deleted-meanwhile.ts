import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { order } from './order.ts';
import type { Scenario } from './scenario.ts';
import { deleteUntilGone, eventually, uploadUntilKept } from './steps.ts';

/**
 * A worker has written all variants of a picture; before it writes their rows the picture is deleted, and its original
 * and variants are removed. What the worker finds is no file: it must take back what it has written.
 */
export const DELETED_MEANWHILE: Scenario = {
  label: 'worker finishing a file that was deleted meanwhile',
  async run(deps) {
    const { world, user, random } = deps;
    const goOn = join(world.folder, `go-on-${random.int(0, 2 ** 32 - 1)}`);
    const ordered = order(world.faultsFolder, 'render.written', `wait ${goOn}`);
    const file = await uploadUntilKept(deps, user.contents.drawPicture(random));
    const waits = await ordered.taken(45_000);
    await deleteUntilGone(deps, file);
    const stem = file.name.split('.')[0] ?? '';
    const refunded = await eventually(() =>
      world.db
        .selectFrom('files')
        .select('id')
        .where('stem', '=', stem)
        .where('refunded_at', 'is not', null)
        .executeTakeFirst(),
    );
    writeFileSync(goOn, '');
    return waits && refunded !== undefined;
  },
};
