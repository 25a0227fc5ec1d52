import { availableParallelism } from 'node:os';
import multipart from '@fastify/multipart';
import type { Db } from '@stowage/shared/database/open-database.ts';
import { DEFAULT_ALLOWED_TYPES } from '@stowage/shared/images/detect-type.ts';
import type { RenderPool } from '@stowage/shared/images/render-pool.ts';
import type { UploadMetrics } from '@stowage/shared/metrics/upload-metrics.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import { createLeaseKeeper } from '@stowage/shared/uploads/lease-keeper.ts';
import { createUploadBatcher } from '@stowage/shared/uploads/upload-batcher.ts';
import type { FastifyInstance } from 'fastify';
import { type Caller, requireSession, type VerifyAccessToken } from '../http/authenticate.ts';
import type { SlowBodies } from '../http/slow-bodies.ts';
import { validatorCompiler } from '../http/validation.ts';
import { ByteCache, type CachedBytes } from './byte-cache.ts';
import { createFileLookUp } from './look-up-file.ts';
import { ownerRoutes } from './owner-routes.ts';
import { readRoutes } from './read-routes.ts';
import { RenderAdmission } from './render-admission.ts';
import { SingleFlight } from './single-flight.ts';
import { UploadPlaces, type UploadPlacesOptions } from './upload-places.ts';
import { uploadRoute } from './upload-route.ts';

export interface FilesDeps {
  readonly db: Db;
  readonly objects: ObjectStore;
  readonly renderPool: RenderPool;
  readonly verifyAccessToken: VerifyAccessToken;
  readonly slowBodies: SlowBodies;
  readonly uploadMetrics: UploadMetrics;
  /** Publishes the jobs that were just committed. Nothing waits for it. */
  readonly relayKick: () => void;
  /** Aborted, with an AppError, when running uploads may not go on any longer. */
  readonly shutdown: AbortSignal;
  readonly settings: FilesSettings;
}

export interface FilesSettings {
  readonly maxFileBytes: number;
  /** MIME types; undefined for the usual ones. */
  readonly allowedTypes: readonly string[] | undefined;
  readonly thumbnailWidths: readonly number[];
  readonly maxInputPixels: number;
  /** Memory for originals up to 1 MB and thumbnails. */
  readonly readCacheBytes: number;
  readonly timings?: Partial<UploadTimings>;
  readonly uploadPlaces?: Partial<UploadPlacesOptions>;
}

/** All in ms. */
export interface UploadTimings {
  /** How long an upload is kept without a sign of life from its process. */
  readonly leaseMs: number;
  /** How long before the end of a lease its writes are stopped. */
  readonly leaseMarginMs: number;
  readonly leaseTickMs: number;
  /** How long charges gather before they are posted to the ledger in one job. */
  readonly postingDelayMs: number;
}

const TIMINGS: UploadTimings = {
  leaseMs: 120_000,
  leaseMarginMs: 15_000,
  leaseTickMs: 5_000,
  postingDelayMs: 1_000,
};

/**
 * An upload that waits for its client costs next to nothing, so there are many places: slow clients have each theirs
 * for a minute before they are cut off.
 */
const UPLOAD_PLACES: UploadPlacesOptions = { places: 1_000, placesPerUser: 750 };

/** Everything about files: upload, read, thumbnails, list, details, delete. */
export async function filesRoutes(app: FastifyInstance, deps: FilesDeps): Promise<void> {
  const { db, objects, verifyAccessToken, relayKick, settings } = deps;
  const timings = { ...TIMINGS, ...settings.timings };
  const onError = (error: unknown) => app.log.error({ err: error }, 'an upload left something to the sweep');
  const leases = createLeaseKeeper({
    db,
    leaseMs: timings.leaseMs,
    marginMs: timings.leaseMarginMs,
    tickMs: timings.leaseTickMs,
    onError,
  });
  app.addHook('onClose', async () => leases.close());
  app.setValidatorCompiler(validatorCompiler);

  await app.register(async (scope) => {
    await scope.register(multipart, { throwFileSizeLimit: false });
    await uploadRoute(scope, {
      db,
      objects,
      verifyAccessToken,
      requireSession: (principal) => requireSession(db, principal),
      batcher: createUploadBatcher({ db, leaseMs: timings.leaseMs, postingDelayMs: timings.postingDelayMs }),
      leases,
      maxFileBytes: settings.maxFileBytes,
      allowedTypes: new Set(settings.allowedTypes ?? DEFAULT_ALLOWED_TYPES),
      slowBodies: deps.slowBodies,
      places: new UploadPlaces({ ...UPLOAD_PLACES, ...settings.uploadPlaces }),
      metrics: deps.uploadMetrics,
      shutdown: deps.shutdown,
      relayKick,
      onError,
    });
  });

  const files = createFileLookUp({ db });
  await app.register(async (scope) =>
    ownerRoutes(scope, {
      db,
      relayKick,
      forget: files.forget,
      thumbnailWidths: settings.thumbnailWidths,
      requireCaller: async (request): Promise<Caller> =>
        requireSession(db, await verifyAccessToken(request.headers.authorization)),
    }),
  );

  const cache = new ByteCache({ maxBytes: settings.readCacheBytes });
  const flights = new SingleFlight<CachedBytes>();
  await app.register(async (scope) =>
    readRoutes(scope, {
      files,
      objects,
      cache,
      flights,
      thumbnails: {
        db,
        store: objects,
        pool: deps.renderPool,
        lookUpFile: files.find,
        cache,
        flights,
        admission: new RenderAdmission({ slots: availableParallelism() }),
        thumbnailWidths: settings.thumbnailWidths,
        maxInputPixels: settings.maxInputPixels,
      },
    }),
  );
}
