import { describe, expect, it } from 'vitest';
import {
  BLOCK_BYTES,
  createUploadBuffers,
  PART_BLOCKS,
  PART_BYTES,
  type PartMemory,
} from './upload-buffers.ts';

const signal = new AbortController().signal;

async function grow(part: PartMemory, blocks: number): Promise<void> {
  for (let index = 0; index < blocks; index += 1) await part.grow(signal);
}

/** Whether a claim was granted at once. */
async function settled(claim: Promise<unknown>): Promise<boolean> {
  const no = Symbol('no');
  // Two turns of the microtask queue are more than a granted claim needs.
  const later = Promise.resolve()
    .then(() => undefined)
    .then(() => undefined)
    .then(() => undefined)
    .then(() => no);
  return (await Promise.race([claim, later])) !== no;
}

describe('the upload buffers', () => {
  it('refuse to be smaller than one part', () => {
    expect(() => createUploadBuffers(PART_BYTES - 1)).toThrow(RangeError);
  });

  it('give blocks of one size, and use them again', async () => {
    const buffers = createUploadBuffers(PART_BYTES);
    const first = buffers.part();
    const block = await first.grow(signal);
    expect(block.byteLength).toBe(BLOCK_BYTES);
    expect(buffers.takenBytes).toBe(BLOCK_BYTES);
    first.free({ reusable: true });
    expect(buffers.takenBytes).toBe(0);
    expect(await buffers.part().grow(signal)).toBe(block);
  });

  it('do not use memory again that something may still read', async () => {
    const buffers = createUploadBuffers(PART_BYTES);
    const first = buffers.part();
    const block = await first.grow(signal);
    first.free({ reusable: false });
    expect(await buffers.part().grow(signal)).not.toBe(block);
  });

  it('make a part wait when all is taken, until another is freed', async () => {
    const buffers = createUploadBuffers(PART_BYTES);
    const sending = buffers.part();
    await grow(sending, PART_BLOCKS);
    sending.seal();
    const waiting = buffers.part();
    const claim = waiting.grow(signal);
    expect(await settled(claim)).toBe(false);
    expect(buffers.takenBytes).toBe(PART_BYTES);
    sending.free({ reusable: true });
    await claim;
    expect(buffers.takenBytes).toBe(BLOCK_BYTES);
  });

  it('never give the last blocks to parts that would then all wait for each other', async () => {
    const buffers = createUploadBuffers(PART_BYTES);
    const a = buffers.part();
    const b = buffers.part();
    await grow(a, PART_BLOCKS / 2);
    // Half is free, but then neither could be completed.
    const claim = b.grow(signal);
    expect(await settled(claim)).toBe(false);
    await grow(a, PART_BLOCKS / 2);
    a.seal();
    expect(await settled(claim)).toBe(false);
    a.free({ reusable: true });
    await claim;
    await grow(b, PART_BLOCKS - 1);
  });

  it('complete every part of any number that grow in turn', async () => {
    const buffers = createUploadBuffers(2.5 * PART_BYTES);
    let highest = 0;
    const upload = async (blocks: number): Promise<void> => {
      const part = buffers.part();
      for (let index = 0; index < blocks; index += 1) {
        await part.grow(signal);
        highest = Math.max(highest, buffers.takenBytes);
      }
      part.seal();
      await Promise.resolve();
      part.free({ reusable: true });
    };
    await Promise.all(Array.from({ length: 200 }, (_, index) => upload(1 + ((index * 7) % PART_BLOCKS))));
    expect(buffers.takenBytes).toBe(0);
    expect(highest).toBeLessThanOrEqual(2.5 * PART_BYTES);
    expect(highest).toBeGreaterThan(2 * PART_BYTES);
  });

  it('let a part stop waiting when its signal is aborted', async () => {
    const buffers = createUploadBuffers(PART_BYTES);
    const holder = buffers.part();
    await grow(holder, PART_BLOCKS);
    const abort = new AbortController();
    const waiting = buffers.part();
    const claim = waiting.grow(abort.signal);
    abort.abort(new Error('the client went away'));
    await expect(claim).rejects.toThrow('the client went away');
    waiting.free({ reusable: true });
    holder.free({ reusable: true });
    expect(buffers.takenBytes).toBe(0);
  });

  it('keep no more than two parts once nothing is under way', async () => {
    const buffers = createUploadBuffers(8 * PART_BYTES);
    const parts = Array.from({ length: 8 }, () => buffers.part());
    for (const part of parts) await grow(part, PART_BLOCKS);
    const seen = new Set(parts.flatMap((part) => part.blocks));
    for (const part of parts) part.free({ reusable: true });
    const again = buffers.part();
    const more = [again, ...Array.from({ length: 3 }, () => buffers.part())];
    for (const part of more) await grow(part, PART_BLOCKS);
    const reused = more.flatMap((part) => part.blocks).filter((block) => seen.has(block));
    expect(reused).toHaveLength(2 * PART_BLOCKS);
  });
});
