/** Size of one block of memory. A part is collected in up to `PART_BLOCKS` of them. */
export const BLOCK_BYTES = 256 * 1024;
export const PART_BLOCKS = 32;
export const PART_BYTES = BLOCK_BYTES * PART_BLOCKS;

/** Blocks kept for the next upload when nothing is under way: two parts, what one big upload takes. */
const KEPT_BLOCKS = 2 * PART_BLOCKS;

/** The memory of one part: it grows block by block, is sealed when it is complete, and is given back whole. */
export interface PartMemory {
  readonly blocks: readonly Buffer[];
  /** Adds one block; waits while the uploads of the process hold all there is. Rejects when the signal is aborted. */
  grow(signal: AbortSignal): Promise<Buffer>;
  /** Says that it grows no more. */
  seal(): void;
  /** Gives the memory back. `reusable: false` when something may still read from it, such as a broken connection. */
  free(options: { readonly reusable: boolean }): void;
}

export interface UploadBuffers {
  readonly takenBytes: number;
  part(): PartMemory;
}

interface Waiter {
  readonly part: Part;
  readonly give: () => void;
}

interface Part {
  count: number;
  sealed: boolean;
}

/**
 * The memory that all uploads of a process share, as blocks that are used again and again: so it neither grows
 * beyond `totalBytes` nor depends on the garbage collector.
 *
 * Growing step by step invites a deadlock: all memory taken by parts that each need one block more. So a block is
 * given only if, afterwards, the part that needs least could still be completed from what is free or held by sealed
 * parts (those come back without needing more). When that part is sent, a whole part is free, which is enough for
 * any other. (The banker's algorithm, for claims of equal size.)
 */
export function createUploadBuffers(totalBytes: number): UploadBuffers {
  const total = Math.floor(totalBytes / BLOCK_BYTES);
  if (total < PART_BLOCKS) throw new RangeError(`The upload buffers need ${PART_BYTES} bytes at least.`);
  let free = total;
  let sealed = 0;
  const growing = new Set<Part>();
  const waiting: Waiter[] = [];
  const kept: Buffer[] = [];

  function mayGrow(part: Part): boolean {
    if (free === 0) return false;
    if (free > PART_BLOCKS) return true;
    let largest = part.count + 1;
    for (const other of growing) if (other !== part) largest = Math.max(largest, other.count);
    return free - 1 + sealed >= PART_BLOCKS - largest;
  }

  function take(part: Part): void {
    free -= 1;
    part.count += 1;
  }

  function serveWaiting(): void {
    for (let index = 0; index < waiting.length && free > 0; ) {
      const waiter = waiting[index];
      if (waiter === undefined || !mayGrow(waiter.part)) {
        index += 1;
        continue;
      }
      waiting.splice(index, 1);
      take(waiter.part);
      waiter.give();
    }
  }

  /** Resolves once the block is counted as the part's. */
  function claim(part: Part, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    if (mayGrow(part)) {
      take(part);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        part,
        give: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.push(waiter);
    });
  }

  function createPart(): PartMemory {
    const part: Part = { count: 0, sealed: false };
    const blocks: Buffer[] = [];
    growing.add(part);
    const stopGrowing = (): void => {
      if (!growing.delete(part)) return;
      part.sealed = true;
      sealed += part.count;
    };
    return {
      blocks,
      async grow(signal) {
        await claim(part, signal);
        const block = kept.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
        blocks.push(block);
        return block;
      },
      seal() {
        stopGrowing();
        serveWaiting();
      },
      free({ reusable }) {
        stopGrowing();
        sealed -= part.count;
        free += part.count;
        part.count = 0;
        const keep = Math.max(KEPT_BLOCKS, total - free);
        if (reusable) kept.push(...blocks);
        kept.length = Math.min(kept.length, keep);
        blocks.length = 0;
        serveWaiting();
      },
    };
  }

  return {
    get takenBytes() {
      return (total - free) * BLOCK_BYTES;
    },
    part: createPart,
  };
}
