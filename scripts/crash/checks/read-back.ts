import pLimit from 'p-limit';
import { THUMBNAIL_WIDTHS } from '../fleet/environment.ts';
import type { LoadUser } from '../load/load-user.ts';
import { expectGone } from '../load/read-one.ts';
import { sha256 } from '../users/contents.ts';
import { codeOf, type Reply } from '../users/http.ts';
import type { KeptFile } from '../users/oracle.ts';
import { isUncertain } from '../users/user.ts';

const AT_ONCE = 4;
/** A connection from before the last kill may still break, once. */
const TRIES = 3;
const PAGE = 100;

interface Details {
  readonly sha256: string;
  readonly size: number;
  readonly width: number;
  readonly variants: readonly { readonly width: number; readonly format: string; readonly state: string }[];
}

/** Every acknowledged file is there, byte for byte, with its variants; nothing else is listed; deleted ones are gone. */
export async function readBack(user: LoadUser): Promise<void> {
  const { book, tally } = user;
  const limit = pLimit(AT_ONCE);
  await limit.map(book.kept, (file) => readOriginal(user, file));
  await limit.map(
    book.kept.filter((file) => file.isPicture),
    (file) => readVariants(user, file),
  );
  const deleted = [...book.files.values()].filter((file) => file.state === 'deleted');
  await limit.map(deleted, (file) => expectGone(user, file));
  // They stay gone, which later rounds need not look at again.
  for (const { name } of deleted) book.files.delete(name);
  const listed = await list(user);
  const kept = new Set(book.kept.map((file) => file.name));
  for (const name of listed)
    if (!kept.has(name)) tally.violation(`${user.name}: ${name} is listed, and was never acknowledged`);
  for (const name of kept)
    if (!listed.has(name)) tally.violation(`${user.name}: ${name} was acknowledged and is not listed`);
}

async function readOriginal(user: LoadUser, file: KeptFile): Promise<void> {
  const reply = await get(user, `/${file.name}`);
  const right = reply.kind === 'reply' && reply.status === 200 && sha256(reply.body) === file.sha256;
  if (right) user.tally.count('checks', 'originals read back byte for byte');
  else user.tally.violation(`${user.name}: ${file.name} does not read back: ${describe(reply)}`);
}

async function readVariants(user: LoadUser, file: KeptFile): Promise<void> {
  const reply = await get(user, `/files/${file.name}`);
  if (reply.kind === 'lost' || reply.status !== 200) {
    user.tally.violation(`${user.name}: /files/${file.name} gave ${describe(reply)}`);
    return;
  }
  const details: Details = JSON.parse(reply.body.toString());
  const widths = THUMBNAIL_WIDTHS.filter((width) => width <= details.width);
  for (const width of widths) {
    const ready = details.variants.filter((variant) => variant.width === width && variant.state === 'ready');
    if (ready.length !== 2)
      user.tally.violation(
        `${user.name}: ${file.name} has ${ready.length} variants of width ${width}, not 2`,
      );
    const [stem, extension] = file.name.split('.');
    for (const path of [`/${stem}_${width}.${extension}`, `/${stem}_${width}.${extension}/webp`]) {
      const variant = await get(user, path);
      if (variant.kind === 'reply' && variant.status === 200) user.tally.count('checks', 'variants read');
      else user.tally.violation(`${user.name}: ${path} gave ${describe(variant)}`);
    }
  }
}

async function list(user: LoadUser): Promise<Set<string>> {
  const names = new Set<string>();
  for (let cursor = ''; ; ) {
    const reply = await get(user, `/files?limit=${PAGE}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    if (reply.kind === 'lost' || reply.status !== 200) {
      user.tally.violation(`${user.name}: /files gave ${describe(reply)}`);
      return names;
    }
    const page: { files: { name: string }[]; next_cursor: string | null } = JSON.parse(reply.body.toString());
    for (const { name } of page.files) names.add(name);
    if (page.next_cursor === null) return names;
    cursor = encodeURIComponent(page.next_cursor);
  }
}

async function get(user: LoadUser, path: string): Promise<Reply> {
  let reply = await user.send({ method: 'GET', path });
  for (let tries = 1; isUncertain(reply) && tries < TRIES; tries += 1)
    reply = await user.send({ method: 'GET', path });
  return reply;
}

function describe(reply: Reply): string {
  return reply.kind === 'reply' && reply.status === 200 ? `${reply.body.length} wrong bytes` : codeOf(reply);
}
