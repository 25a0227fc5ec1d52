import { AppError } from '@stowage/shared/errors/app-error.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { throttledAddress } from '../http/client-ip.ts';
import { contentDisposition } from '../http/content-disposition.ts';
import { sendRepresentation } from '../http/send-representation.ts';
import { type FileName, parseFileName } from './file-name.ts';
import type { StoredFile } from './look-up-file.ts';
import { etagOf, findFile, openFile, type ReadFileDeps } from './read-file.ts';
import { readThumbnail, type ThumbnailDeps } from './read-thumbnail.ts';
import { readSchema, readWebpSchema } from './route-schemas.ts';

export interface ReadRoutesDeps extends ReadFileDeps {
  readonly thumbnails: ThumbnailDeps;
}

interface NamedRequest {
  Params: { name: string };
  Querystring: Record<string, unknown>;
}

/** `GET` and `HEAD` of `/<name>` and `/<name>/webp`. Public: an Authorization header is not looked at. */
export async function readRoutes(app: FastifyInstance, deps: ReadRoutesDeps): Promise<void> {
  app.route<NamedRequest>({
    method: ['GET', 'HEAD'],
    url: '/:name',
    schema: readSchema,
    handler: async (request, reply) => {
      refuseOverlay(request.query);
      const name = parseFileName(request.params.name);
      if (name.width !== undefined) return await sendThumbnail(request, reply, name, false);
      return await sendOriginal(request, reply, name);
    },
  });

  app.route<NamedRequest>({
    method: ['GET', 'HEAD'],
    url: '/:name/webp',
    schema: readWebpSchema,
    handler: async (request, reply) => {
      refuseOverlay(request.query);
      return await sendThumbnail(request, reply, parseFileName(request.params.name), true);
    },
  });

  async function sendOriginal(request: FastifyRequest, reply: FastifyReply, { stem, extension }: FileName) {
    const file = await findFile(deps.files, stem, extension);
    return await sendRepresentation(request, reply, {
      etag: etagOf(file),
      lastModified: file.created_at,
      sizeBytes: file.size_bytes,
      contentType: servedType(file),
      contentDisposition: contentDisposition(file.content_type, file.original_name ?? `${stem}.${extension}`),
      cacheControl: 'public, max-age=31536000, immutable',
      open: (range) => openFile(deps, file, range, () => readerGone(reply)),
    });
  }

  async function sendThumbnail(request: FastifyRequest, reply: FastifyReply, name: FileName, webp: boolean) {
    const { stem, extension, width } = name;
    const asked = {
      stem,
      extension,
      width,
      webp,
      // Found out only when it is asked for: what is in memory needs neither.
      get clientIp() {
        return throttledAddress(request.ip);
      },
      get signal() {
        return readerGone(reply);
      },
    };
    const thumbnail = await readThumbnail(deps.thumbnails, asked);
    const { bytes } = thumbnail;
    const shownName = `${stem}${width === undefined ? '' : `_${width}`}.${webp ? 'webp' : extension}`;
    return await sendRepresentation(request, reply, {
      ...thumbnail,
      sizeBytes: bytes.length,
      contentDisposition: contentDisposition(thumbnail.contentType, shownName),
      open: async (range) => (range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)),
    });
  }
}

/** R9: the text overlay is gone; saying so is better than a picture without it. */
function refuseOverlay(query: Record<string, unknown>): void {
  if ('s' in query)
    throw new AppError('UNSUPPORTED_PARAMETER', 'The text overlay (s=) does not exist any more.', {
      details: { parameter: 's' },
    });
}

/** Aborted when the connection ends before the answer did. */
function readerGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) gone.abort(new AppError('CLIENT_GONE', 'The client went away.'));
  };
  if (raw.closed) onClose();
  else raw.once('close', onClose);
  return gone.signal;
}

function servedType(file: StoredFile): string {
  return /^text\/|^application\/json$/.test(file.content_type)
    ? `${file.content_type}; charset=utf-8`
    : file.content_type;
}
