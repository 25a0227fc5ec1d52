/** Parts that one upload may have, hence objects that it may leave. */
export const MOST_FILES_PER_UPLOAD = 20;

/** The key of an upload's nth file, from 0. */
export function originalKey(uploadId: string, n: number): string {
  return `${originalsPrefix(uploadId)}${n}`;
}

/** Where all objects of an upload are, and nothing else is. */
export function originalsPrefix(uploadId: string): string {
  return `originals/${uploadId}/`;
}

/** Every key that an upload may have written. */
export function originalKeys(uploadId: string): string[] {
  return Array.from({ length: MOST_FILES_PER_UPLOAD }, (_, n) => originalKey(uploadId, n));
}
