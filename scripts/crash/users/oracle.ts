import type { Content } from './contents.ts';

/** A file whose upload was acknowledged. */
export interface KeptFile {
  readonly name: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly isPicture: boolean;
  /** `kept` until a deletion is asked for, `unsure` until one is acknowledged, then `deleted`. */
  state: 'kept' | 'unsure' | 'deleted';
}

/** An upload by one `Idempotency-Key`, as often as it takes. */
export interface UploadAttempt {
  readonly key: string;
  readonly contents: readonly Content[];
  /** Without `Content-Length`. */
  readonly chunked: boolean;
  /** Whether a reply was lost, or said 5xx: it may have been stored all the same. */
  unsure: boolean;
  acknowledged: boolean;
}

export function newAttempt(key: string, contents: readonly Content[], chunked = false): UploadAttempt {
  return { key, contents, chunked, unsure: false, acknowledged: false };
}

/** What one user has been told. Nothing in here comes from the database or from the object store. */
export class UserBook {
  readonly id: string;
  /** Bytes by which acknowledged changes of the quota moved it. */
  adjustment = 0;
  readonly files = new Map<string, KeptFile>();
  /** Uploads without a definite answer. */
  readonly unsettled = new Set<UploadAttempt>();
  /** Increases without a definite answer: each may have been made, or not. */
  unsureIncreases: number[] = [];
  /** A `set` to this value without a definite answer. */
  unsureSet: number | undefined;

  constructor(id: string) {
    this.id = id;
  }

  acknowledge(file: Omit<KeptFile, 'state'>): void {
    if (!this.files.has(file.name)) this.files.set(file.name, { ...file, state: 'kept' });
  }

  get kept(): readonly KeptFile[] {
    return [...this.files.values()].filter((file) => file.state === 'kept');
  }

  get unsure(): readonly KeptFile[] {
    return [...this.files.values()].filter((file) => file.state === 'unsure');
  }

  get storedBytes(): number {
    return this.kept.reduce((sum, file) => sum + file.sizeBytes, 0);
  }

  /** What `current_quota` must be once everything has come to rest. */
  get expectedQuota(): number {
    return this.storedBytes + this.adjustment;
  }

  /**
   * Decides which of the unsure increases were made, from the only number that there is. Increases are odd sums of
   * a few bytes and files are thousands of bytes long, so a file that is missing or counted twice does not fit.
   * @returns false when none of the combinations explains the number
   */
  settleIncreases(currentQuota: number): boolean {
    const surplus = currentQuota - this.expectedQuota;
    if (!sumsOf(this.unsureIncreases).has(surplus)) return false;
    this.adjustment += surplus;
    this.unsureIncreases = [];
    return true;
  }
}

function sumsOf(numbers: readonly number[]): Set<number> {
  let sums = new Set([0]);
  for (const number of numbers) sums = new Set([...sums, ...[...sums].map((sum) => sum + number)]);
  return sums;
}
