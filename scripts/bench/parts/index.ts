import type { Part } from '../part.ts';
import { cachedRead } from './cached-read.ts';
import { fairness } from './fairness.ts';
import { growth } from './growth.ts';
import { memory } from './memory.ts';
import { overload } from './overload.ts';
import { quality } from './quality.ts';
import { ready } from './ready.ts';
import { requestRender } from './request-render.ts';
import { s3Read } from './s3-read.ts';
import { thumbnailSet } from './thumbnail-set.ts';
import { twoWorkers } from './two-workers.ts';
import { uploadLarge } from './upload-large.ts';
import { uploadSmall } from './upload-small.ts';
import { worker } from './worker.ts';

/** All parts, in the order in which they run. */
export const PARTS: readonly Part[] = [
  thumbnailSet,
  worker,
  twoWorkers,
  quality,
  requestRender,
  overload,
  cachedRead,
  s3Read,
  uploadLarge,
  uploadSmall,
  memory,
  ready,
  fairness,
  growth,
];
