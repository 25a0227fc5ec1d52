import { createHash } from 'node:crypto';
import { faultPoint } from '@stowage/shared/faults/fault-points.ts';
import { contentTypeOf } from '@stowage/shared/images/picture-format.ts';
import type { RenderedVariant } from '@stowage/shared/images/render-request.ts';
import { variantKey } from '@stowage/shared/images/variant-settings.ts';
import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';
import type { WrittenVariant } from '@stowage/shared/renders/finish-render.ts';

/** Writes the variants of one file to the store, each as soon as it comes. */
export class VariantWriter {
  readonly #store: Pick<ObjectStore, 'put'>;
  readonly #fileId: string;
  readonly #signal: AbortSignal;
  readonly #keys: string[] = [];
  readonly #writes: Promise<WrittenVariant>[] = [];

  constructor(store: Pick<ObjectStore, 'put'>, fileId: string, signal: AbortSignal) {
    this.#store = store;
    this.#fileId = fileId;
    this.#signal = signal;
  }

  /** Of all objects that were written, or may have been. */
  get keys(): readonly string[] {
    return this.#keys;
  }

  write(variant: RenderedVariant): void {
    const write = this.#put(variant);
    // It is reported by written(); until then it must not count as unhandled.
    write.catch(() => {});
    this.#writes.push(write);
  }

  /** Resolves when all are durable; rejects as the first that failed. */
  async written(): Promise<WrittenVariant[]> {
    return await Promise.all(this.#writes);
  }

  /** Resolves when no write is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  async #put({ width, height, format, bytes }: RenderedVariant): Promise<WrittenVariant> {
    const objectKey = variantKey(this.#fileId, width, format);
    this.#keys.push(objectKey);
    const sizeBytes = await this.#store.put(objectKey, bytes, {
      contentType: contentTypeOf(format),
      signal: this.#signal,
    });
    await faultPoint('render.variant-written');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { width, height, format, objectKey, sizeBytes, sha256 };
  }
}
