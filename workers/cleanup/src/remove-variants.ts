import type { ObjectStore } from '@stowage/shared/objects/object-store.ts';

/** Keys that the store is asked to remove in one request. */
const KEYS_AT_ONCE = 1_000;

/** Removes every variant of a file, also those of renders that failed before they wrote down what they had made. */
export async function removeVariants(
  store: Pick<ObjectStore, 'delete' | 'list' | 'dropUnfinished'>,
  fileId: string,
): Promise<void> {
  const prefix = `variants/${fileId}/`;
  await store.dropUnfinished(prefix);
  let keys: string[] = [];
  for await (const { key } of store.list(prefix)) {
    keys.push(key);
    if (keys.length < KEYS_AT_ONCE) continue;
    await store.delete(keys);
    keys = [];
  }
  if (keys.length > 0) await store.delete(keys);
}
