import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { AppError } from '@stowage/shared/errors/app-error.ts';
import { compare, hash } from 'bcrypt';
import pLimit from 'p-limit';
import type { FieldError } from './field-errors.ts';

export interface PasswordsOptions {
  /** bcrypt's work factor. */
  readonly cost: number;
  /** Whether the commonest passwords are refused. */
  readonly blocklist: boolean;
  /** Hashes at once. They run on libuv's threads, which files and DNS need too. */
  readonly parallel?: number;
}

export interface Passwords {
  /** What is wrong with a new password, if anything. */
  fault(password: string): FieldError | undefined;
  /** @throws {AppError} OVERLOADED when too many wait already */
  hash(password: string): Promise<string>;
  /**
   * Whether the password belongs to the hash. Without a hash it is false and takes just as long.
   * @param admit runs when it is this password's turn; what it throws keeps the password from being tried
   * @throws {AppError} OVERLOADED when too many wait already
   */
  matches(password: string, hash: string | null | undefined, admit?: () => Promise<void>): Promise<boolean>;
}

const MIN_CHARACTERS = 8;
/** bcrypt ignores what comes after. */
const MAX_BYTES = 72;
/** At 0.2 s each, who comes later would wait for half a minute and more. */
const MAX_WAITING = 256;

/** Password rules and hashes. Passwords are compared in Unicode's NFKC, so that keyboards may differ. */
export function createPasswords(options: PasswordsOptions): Passwords {
  const { cost, blocklist, parallel = availableParallelism() } = options;
  const turn = pLimit(parallel);
  const common = blocklist ? readCommonPasswords() : new Set<string>();
  /** No password has this hash. */
  const nobodysHash = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (turn.pendingCount >= MAX_WAITING)
      throw new AppError('OVERLOADED', 'Too many are logging in or signing up. Try again soon.');
    return turn(work);
  };

  return {
    fault(password) {
      const normal = password.normalize('NFKC');
      const code = !password.isWellFormed()
        ? 'PASSWORD_MALFORMED'
        : [...normal].length < MIN_CHARACTERS
          ? 'PASSWORD_TOO_SHORT'
          : Buffer.byteLength(normal) > MAX_BYTES
            ? 'PASSWORD_TOO_LONG'
            : common.has(normal.toLowerCase())
              ? 'PASSWORD_TOO_COMMON'
              : undefined;
      return code === undefined ? undefined : { field: 'password', code, message: FAULTS[code] };
    },
    hash: async (password) => inTurn(() => hash(password.normalize('NFKC'), cost)),
    matches: async (password, stored, admit) =>
      inTurn(async () => {
        await admit?.();
        const normal = password.normalize('NFKC');
        const possible = password.isWellFormed() && Buffer.byteLength(normal) <= MAX_BYTES;
        const same = await compare(normal, possible && stored ? stored : nobodysHash);
        return same && possible && Boolean(stored);
      }),
  };
}

const FAULTS = {
  PASSWORD_MALFORMED: 'The password is not valid Unicode.',
  PASSWORD_TOO_SHORT: `The password must have at least ${MIN_CHARACTERS} characters.`,
  PASSWORD_TOO_LONG: `The password must have at most ${MAX_BYTES} bytes in UTF-8.`,
  PASSWORD_TOO_COMMON: 'This password is one of the commonest, and guessed first. Choose another.',
} as const;

function readCommonPasswords(): Set<string> {
  const text = readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8');
  return new Set(text.split('\n').filter((line) => line !== ''));
}
