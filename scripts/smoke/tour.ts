import type { Client } from './client.ts';
import type { Steps } from './steps.ts';

/** What all stages of the tour share. */
export interface Tour extends Steps {
  readonly client: Client;
  readonly dataFolder: string;
  readonly opsUrls: readonly string[];
}

/** Somebody who is logged in. */
export interface Visitor {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  /** The `Authorization` header. */
  readonly headers: Record<string, string>;
}

/** A file that the tour has stored. */
export interface StoredPicture {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** Of the upright picture. */
  readonly width: number;
  readonly height: number;
  /** As sharp names it. */
  readonly format: string;
}

/** The value, or a failed step that says what an earlier one did not bring about. */
export function needed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}: an earlier step failed`);
  return value;
}
