import { type Static, Type } from 'typebox';

/** Queues by their nouns. Each has one worker. */
export const QUEUE_NAMES = ['thumbnails', 'quota-accounting', 'cleanup', 'mail'] as const;
export type QueueName = (typeof QUEUE_NAMES)[number];

const uuid = Type.String({ format: 'uuid' });

/**
 * Jobs by name: the queue they travel in and the shape of their payload. A payload carries ids and the version of
 * its shape; consumers accept the current version and the one before.
 */
export const JOB_TYPES = {
  'render-thumbnails': {
    queue: 'thumbnails',
    payload: Type.Object({ v: Type.Literal(1), fileId: uuid }, { additionalProperties: false }),
  },
  'post-usage': {
    queue: 'quota-accounting',
    payload: Type.Object({ v: Type.Literal(1), userId: uuid }, { additionalProperties: false }),
  },
  'delete-file': {
    queue: 'cleanup',
    payload: Type.Object({ v: Type.Literal(1), fileId: uuid }, { additionalProperties: false }),
  },
  'send-mail': {
    queue: 'mail',
    payload: Type.Object(
      { v: Type.Literal(1), mail: Type.Union([Type.Literal('verify-sign-up')]), signUpId: uuid },
      { additionalProperties: false },
    ),
  },
} as const satisfies Record<string, { queue: QueueName; payload: unknown }>;

export type JobName = keyof typeof JOB_TYPES;
export type JobPayload<N extends JobName> = Static<(typeof JOB_TYPES)[N]['payload']>;
