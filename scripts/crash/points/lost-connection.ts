import { newAttempt } from '../users/oracle.ts';
import type { Scenario } from './scenario.ts';
import { untilAcknowledged } from './steps.ts';

/** Of the statement that finishes uploads, and of no other. */
const FINISH = 'DELETE FROM uploads u USING open, charged';

/**
 * *Finish* reaches Postgres and is committed; its answer is kept back and the connection breaks. The API must find out
 * by itself: it says 200 at the first time of asking.
 */
export const LOST_CONNECTION: Scenario = {
  label: 'finish committed and the connection lost',
  async run(deps) {
    const { world, user, random } = deps;
    const [api] = world.fleet.of('api');
    if (api === undefined) return false;
    await api.process.ready();
    let sprung = false;
    api.proxies.postgres.keepBackReplyTo(FINISH, () => {
      sprung = true;
    });
    const attempt = newAttempt(user.newKey(random), [user.contents.drawPicture(random)]);
    user.tally.count('uploads', 'tried');
    const first = await user.tryUpload(attempt, `http://127.0.0.1:${api.process.port}`);
    api.proxies.postgres.disarm();
    if (sprung && first !== 'done')
      world.tally.violation('an upload whose finish was committed was not acknowledged at the first time');
    if (first !== 'done') await untilAcknowledged(deps, attempt);
    return sprung;
  },
};
