import type { Readable } from 'node:stream';

/**
 * Lets a stream fail before anybody reads it: whoever does so later is told of the failure then. Without a listener
 * Node would end the process.
 */
export function keepFailure(stream: Readable): void {
  stream.on('error', () => undefined);
}
