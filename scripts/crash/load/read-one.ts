import { THUMBNAIL_WIDTHS } from '../fleet/environment.ts';
import type { Random } from '../random.ts';
import { sha256 } from '../users/contents.ts';
import { codeOf } from '../users/http.ts';
import type { KeptFile } from '../users/oracle.ts';
import { isUncertain } from '../users/user.ts';
import type { LoadUser } from './load-user.ts';

/** Reads an original or a thumbnail of a file that must be there, or finds a deleted one gone. */
export async function readOne(user: LoadUser, random: Random): Promise<void> {
  const files = [...user.book.files.values()].filter((file) => file.state !== 'unsure');
  if (files.length === 0) return;
  const file = random.pick(files);
  if (file.state === 'deleted') await expectGone(user, file);
  else if (file.isPicture && random.chance(0.5))
    await readThumbnail(user, file, random.pick(THUMBNAIL_WIDTHS));
  else await readOriginal(user, file);
}

async function readOriginal(user: LoadUser, file: KeptFile): Promise<void> {
  const reply = await user.send({ method: 'GET', path: `/${file.name}` });
  if (isUncertain(reply)) {
    user.tally.count('reads', 'no answer');
    return;
  }
  if (reply.status === 200 && sha256(reply.body) === file.sha256) {
    user.tally.count('reads', 'originals, byte for byte');
  } else if (file.state === 'kept') {
    const what = reply.status === 200 ? `${reply.body.length} wrong bytes` : codeOf(reply);
    user.tally.violation(`${user.name}: GET ${file.name} gave ${what}`);
  }
}

async function readThumbnail(user: LoadUser, file: KeptFile, width: number): Promise<void> {
  const [stem, extension] = file.name.split('.');
  const reply = await user.send({ method: 'GET', path: `/${stem}_${width}.${extension}/webp` });
  if (isUncertain(reply)) user.tally.count('reads', 'no answer');
  else if (reply.status === 200 && reply.contentType === 'image/webp')
    user.tally.count('reads', 'thumbnails');
  else if (file.state === 'kept')
    user.tally.violation(`${user.name}: thumbnail ${width} of ${file.name} gave ${codeOf(reply)}`);
}

/**
 * From the acknowledgement on, no process serves the file: each of them is asked. But one that cannot ask Postgres goes
 * on with what it knows for five minutes, as the README says.
 */
export async function expectGone(user: LoadUser, file: KeptFile): Promise<void> {
  for (const baseUrl of user.baseUrls) {
    const reply = await user.send({ method: 'GET', path: `/${file.name}`, baseUrl });
    if (isUncertain(reply)) continue;
    if (reply.status === 404) user.tally.count('reads', 'deleted files, 404');
    else if (reply.status === 200 && user.isBlind(baseUrl))
      user.tally.count('reads', 'deleted files, from memory while Postgres was away');
    else user.tally.violation(`${user.name}: the deleted file ${file.name} was answered ${reply.status}`);
  }
}
