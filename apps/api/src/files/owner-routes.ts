import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Db } from '@stowage/shared/database/open-database.ts';
import type { FastifyInstance } from 'fastify';
import type { RequireCaller } from '../http/require-caller.ts';
import { noteCallers } from '../http/require-caller.ts';
import { deleteFile } from './delete-file.ts';
import { fileNotFound, parseFileName } from './file-name.ts';
import { listFiles } from './list-files.ts';
import { deleteSchema, detailsSchema, listSchema } from './route-schemas.ts';
import { showFile } from './show-file.ts';

export interface OwnerRoutesDeps {
  readonly db: Db;
  readonly requireCaller: RequireCaller;
  readonly relayKick: () => void;
  /** Drops what this process knows of a file. */
  readonly forget: (stem: string) => void;
  readonly thumbnailWidths: readonly number[];
}

const DEFAULT_LIMIT = '50';

/** `GET /files`, `GET /files/<name>` and `DELETE /<name>`: what owners do with their files. */
export async function ownerRoutes(scope: FastifyInstance, deps: OwnerRoutesDeps): Promise<void> {
  const app = scope.withTypeProvider<TypeBoxTypeProvider>();
  const { db, thumbnailWidths } = deps;
  const callerOf = noteCallers(app, deps.requireCaller);

  app.get('/files', { schema: listSchema }, async (request) => {
    const { limit = DEFAULT_LIMIT, cursor, user_id: userId } = request.query;
    return await listFiles(db, { caller: callerOf(request), userId, limit: Number(limit), cursor });
  });

  app.get('/files/:name', { schema: detailsSchema }, async (request) => {
    return await showFile(db, {
      caller: callerOf(request),
      ...originalName(request.params.name),
      thumbnailWidths,
    });
  });

  app.delete('/:name', { schema: deleteSchema }, async (request, reply) => {
    const { name } = request.params;
    await deleteFile(deps, { caller: callerOf(request), ...originalName(name), requestId: request.id });
    return reply.code(204).send();
  });
}

/** The name of an original; a thumbnail is nothing that one could describe or delete by itself. */
function originalName(text: string): { stem: string; extension: string } {
  const { stem, extension, width } = parseFileName(text);
  if (width !== undefined) throw fileNotFound();
  return { stem, extension };
}
