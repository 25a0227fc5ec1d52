import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { unavailable } from '../failures.ts';
import { keepFailure } from '../keep-failure.ts';

const READ_BYTES = 128 * 1024;

/**
 * Reads `length` bytes of an open file from `start` and then closes it. Unlike Node's own stream, it fails when the
 * file is shorter than promised, and with the store's error instead of the system's.
 */
export class FileRangeStream extends Readable {
  readonly #file: FileHandle;
  #position: number;
  #left: number;

  constructor(file: FileHandle, start: number, length: number) {
    super({ highWaterMark: READ_BYTES });
    this.#file = file;
    this.#position = start;
    this.#left = length;
    keepFailure(this);
  }

  override _read(): void {
    if (this.#left === 0) {
      this.push(null);
      return;
    }
    const wanted = Math.min(this.#left, READ_BYTES);
    this.#file.read(Buffer.allocUnsafe(wanted), 0, wanted, this.#position).then(
      ({ bytesRead, buffer }) => {
        if (bytesRead === 0) {
          this.destroy(unavailable(new Error('The file is shorter than it was when it was opened.')));
          return;
        }
        this.#position += bytesRead;
        this.#left -= bytesRead;
        this.push(buffer.subarray(0, bytesRead));
      },
      (error: unknown) => this.destroy(unavailable(error)),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#file.close().then(
      () => callback(error),
      (closing: unknown) => callback(error ?? unavailable(closing)),
    );
  }
}
