import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { UploadMetrics } from '@stowage/shared/metrics/upload-metrics.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../http/authenticate.ts';
import { letBodyCome } from '../http/expect-continue.ts';
import { toAppError } from '../http/framework-errors.ts';
import type { SlowBodies } from '../http/slow-bodies.ts';
import { readParts } from './read-parts.ts';
import { fileTooLarge } from './receive-part.ts';
import { type ReceiveUploadDeps, receiveUpload } from './receive-upload.ts';
import { uploadSchema } from './route-schemas.ts';
import type { UploadPlaces } from './upload-places.ts';
import { announcedBytes, boundaryOf, FRAMING_BYTES, idempotencyKeyOf, wantsJson } from './upload-request.ts';

export interface UploadRouteDeps extends ReceiveUploadDeps {
  /** Checks the token without asking the database; *begin* checks the session. */
  readonly verifyAccessToken: (authorization: string | undefined) => Promise<Principal>;
  /** Checks the session where no *begin* comes. */
  readonly requireSession: (principal: Principal) => Promise<unknown>;
  readonly slowBodies: SlowBodies;
  readonly places: UploadPlaces;
  readonly metrics: UploadMetrics;
  /** Aborted, with an AppError, when uploads may not go on any longer. */
  readonly shutdown: AbortSignal;
}

/** The schemas describe the request; what they say is checked here, the body while it arrives. */
const READS_ITS_OWN_BODY = {
  config: { asksForBody: true },
  validatorCompiler: () => () => true,
} as const;

/** `POST /`: stores the files of a multipart body. */
export async function uploadRoute(app: FastifyInstance, deps: UploadRouteDeps): Promise<void> {
  const { maxFileBytes, shutdown } = deps;
  const maxBodyBytes = maxFileBytes + FRAMING_BYTES;
  // Bodies of whatever type stay unread here: what cannot be stored is not even looked at.
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  // Not AbortSignal.any: one that depends on a signal as old as the process lives as long as that.
  const running = new Map<AbortController, Promise<unknown>>();
  shutdown.addEventListener('abort', () => {
    for (const upload of running.keys()) upload.abort(shutdown.reason);
  });
  // Uploads whose connection has ended still clean up after themselves.
  app.addHook('onClose', async () => {
    await Promise.allSettled(running.values());
  });

  const principals = new WeakMap<FastifyRequest, Principal>();
  app.addHook('onRequest', async (request) => {
    const principal = await deps.verifyAccessToken(request.headers.authorization);
    await refuseAtOnce(request, principal);
    principals.set(request, principal);
  });
  app.addHook('onError', async (_request, _reply, error) => deps.metrics.refused(toAppError(error).code));

  app.post('/', { schema: uploadSchema, ...READS_ITS_OWN_BODY }, async (request, reply) => {
    const principal = principals.get(request);
    if (principal === undefined) throw new AppError('UNAUTHENTICATED', 'An access token is required.');
    const giveBack = deps.places.take(principal.userId);
    const ended = endOfBody(request);
    const upload = receiveUpload(deps, {
      ...principal,
      announcedBytes: announcedBytes(request),
      idempotencyKey: idempotencyKeyOf(request),
      requestId: request.id,
      signal: ended.signal,
      openParts: (signal) => {
        letBodyCome(request, reply);
        return readParts({ request, signal, maxFileBytes, maxBodyBytes });
      },
    }).finally(() => {
      running.delete(ended);
      giveBack();
    });
    running.set(ended, upload);
    const files = await upload;
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    deps.metrics.stored(files.length, bytes);
    return wantsJson(request.headers.accept)
      ? files
      : sendText(reply, files.map((file) => file.name).join('\n'));
  });

  /** What the head of the request tells already. A session that has ended comes before all that. */
  async function refuseAtOnce(request: FastifyRequest, principal: Principal): Promise<void> {
    try {
      if ((announcedBytes(request) ?? 0) > maxBodyBytes) throw fileTooLarge(maxFileBytes);
      boundaryOf(request);
      idempotencyKeyOf(request);
    } catch (error) {
      await deps.requireSession(principal);
      throw error;
    }
  }

  /** Aborted when the body will not come to its end. */
  function endOfBody({ raw }: FastifyRequest): AbortController {
    const ended = new AbortController();
    // Not `complete`: what had arrived and was not read yet is gone with the connection.
    const onClose = () => {
      if (!raw.readableEnded) ended.abort(new AppError('CLIENT_GONE', 'The client went away.'));
    };
    if (raw.destroyed) onClose();
    else raw.once('close', onClose);
    deps.slowBodies.watch(raw, (error) => ended.abort(error));
    if (shutdown.aborted) ended.abort(shutdown.reason);
    return ended;
  }
}

function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/plain; charset=utf-8').send(text);
}
