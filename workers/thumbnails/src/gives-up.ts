import { AppError } from '@stowage/shared/errors/app-error.ts';
import { jobErrorOutcome } from '@stowage/shared/queues/job-error-outcome.ts';
import { MAX_RENDER_ATTEMPTS } from '@stowage/shared/renders/find-pending-render.ts';

/**
 * The reason to give a picture up, or undefined when its render is to be tried again.
 * @param attempts that the picture has had, with the one that failed
 * @param lastAttempt whether the queue would not try again
 */
export function givesUp(error: unknown, attempts: number, lastAttempt: boolean): AppError | undefined {
  const outcome = jobErrorOutcome(error);
  if (outcome === 'wait') return undefined;
  const known =
    error instanceof AppError ? error : new AppError('INTERNAL', 'Rendering failed.', { cause: error });
  const endsItsProcess = known.code === 'RENDER_CRASHED' || known.code === 'RENDER_TIMED_OUT';
  if (outcome === 'fail' || lastAttempt) return known;
  return endsItsProcess && attempts >= MAX_RENDER_ATTEMPTS ? known : undefined;
}
