import type { Part } from '../part.ts';
import { cachedRead } from './cached-read.ts';
import { quality } from './quality.ts';
import { requestRender } from './request-render.ts';
import { thumbnailSet } from './thumbnail-set.ts';
import { twoWorkers } from './two-workers.ts';
import { worker } from './worker.ts';

/** All parts, in the order in which they run. */
export const PARTS: readonly Part[] = [thumbnailSet, worker, twoWorkers, quality, requestRender, cachedRead];
