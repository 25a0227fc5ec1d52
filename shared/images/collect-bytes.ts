/** Puts announced bytes together in one buffer. More, or fewer, than announced is an error. */
export class CollectBytes {
  readonly #bytes: Buffer;
  #length = 0;

  /** @param length how many bytes will come */
  constructor(length: number) {
    // Each byte is overwritten before take() hands the buffer out.
    this.#bytes = Buffer.allocUnsafeSlow(length);
  }

  get complete(): boolean {
    return this.#length === this.#bytes.length;
  }

  add(chunk: Uint8Array): void {
    if (this.#length + chunk.length > this.#bytes.length)
      throw new Error('more bytes came than were announced');
    this.#bytes.set(chunk, this.#length);
    this.#length += chunk.length;
  }

  take(): Buffer {
    if (!this.complete)
      throw new Error(`${this.#bytes.length} bytes were announced and ${this.#length} came`);
    return this.#bytes;
  }
}
