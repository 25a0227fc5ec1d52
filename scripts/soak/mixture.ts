import { randomBytes, randomInt } from 'node:crypto';
import type { Stowage } from '../bench/rig/stowage.ts';
import { uploadBody } from '../bench/rig/upload-body.ts';
import type { FloodRequest } from './flood.ts';

const SMALL_BYTES = 20_000;
const WIDEST = 400;

/** What a crowd asks for: uploads, reads from memory, thumbnails of any width, and who one is. */
export async function createMixture(stowage: Stowage, picture: Buffer): Promise<() => FloodRequest> {
  const { client } = stowage;
  const user = await client.newUser();
  const text = await client.upload(uploadBody(text20k(), 'a.txt'), user);
  const image = await client.upload(uploadBody(picture, 'a.jpg'), user);
  const small = uploadBody(text20k(), 'b.txt');
  return () => {
    const draw = randomInt(100);
    if (draw < 30)
      return {
        method: 'POST',
        path: '/',
        headers: { ...user.headers, 'content-type': small.contentType },
        body: small.body,
      };
    if (draw < 60) return { method: 'GET', path: `/${text}` };
    if (draw < 80) return { method: 'GET', path: `/${image.replace('.', `_${randomInt(1, WIDEST)}.`)}` };
    return { method: 'GET', path: '/', headers: user.headers };
  };
}

function text20k(): Buffer {
  return Buffer.from(randomBytes(SMALL_BYTES / 2).toString('hex'));
}
