import type { FaultPoint } from '@stowage/shared/faults/fault-points.ts';
import { order } from './order.ts';
import type { PointDeps, Scenario } from './scenario.ts';
import { deleteUntilGone, uploadUntilKept } from './steps.ts';

const TAKEN_WITHIN_MS = 45_000;

/** A process dies, by `kill -9`, at a moment that an upload or its deletion brings about. */
function death(label: string, point: FaultPoint, cause: (deps: PointDeps) => Promise<unknown>): Scenario {
  return {
    label,
    async run(deps) {
      const ordered = order(deps.world.faultsFolder, point, 'kill');
      const caused = cause(deps);
      const hit = await ordered.taken(TAKEN_WITHIN_MS);
      await caused;
      return hit;
    },
  };
}

const uploadPicture = (deps: PointDeps) => uploadUntilKept(deps, deps.user.contents.drawPicture(deps.random));

async function uploadAndDelete(deps: PointDeps): Promise<void> {
  await deleteUntilGone(deps, await uploadPicture(deps));
}

export const DEATHS: readonly Scenario[] = [
  death('after the object is written and before finish', 'upload.written', uploadPicture),
  death('after the commit and before the reply', 'upload.finished', uploadPicture),
  death('before the outbox is published', 'relay.claimed', uploadPicture),
  death('after publishing and before marking', 'relay.published', uploadPicture),
  death('worker after some variants', 'render.variant-written', uploadPicture),
  death('worker after all objects and before the rows', 'render.written', uploadPicture),
  death(
    'deletion between objects: original gone, not refunded',
    'deletion.original-removed',
    uploadAndDelete,
  ),
  death('deletion between objects: refunded, variants there', 'deletion.refunded', uploadAndDelete),
  death('posting before its commit', 'posting.before-commit', uploadPicture),
  death('posting after its commit', 'posting.committed', uploadPicture),
];
