import type { Db } from '../database/open-database.ts';
import type { CheckDeps } from './audit-deps.ts';
import type { Violation } from './findings.ts';
import { type Books, readFaultyBooks } from './read-books.ts';

/** Users whose books are listed one by one; more are counted. */
const MOST_LISTED = 10_000;

/**
 * I2: each quota row says what its files and adjustments say, and the ledger, with what is still to be posted, says
 * the same. And of I3: no reservation without its upload. Resolves to the drift in bytes.
 */
export async function checkBooks(snapshot: Db, { book, report }: CheckDeps): Promise<number> {
  const { count } = await snapshot
    .selectFrom('users')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  book.checked('I2', count);
  const { books, total, driftBytes } = await readFaultyBooks(snapshot, MOST_LISTED);
  book.violatedBeyond('I2', total - books.length);
  await report(books.flatMap(faultsIn));
  return driftBytes;
}

/** What is wrong in a user's books, each as a violation. */
export function faultsIn(books: Books): Violation[] {
  const { userId, stored, adjustment } = books;
  const violation = (invariant: Violation['invariant'], fault: string): Violation => ({
    invariant,
    subject: `user ${userId}`,
    fault,
    ...(books.hasQuota && { remedy: { kind: 'balance-books', userId } }),
  });
  const faults: Violation[] = [];
  const agree = (
    invariant: Violation['invariant'],
    what: string,
    is: number,
    other: string,
    must: number,
  ) => {
    if (is !== must) faults.push(violation(invariant, `${what} ${is}, ${other} ${must}`));
  };
  if (!books.hasQuota) faults.push(violation('I2', 'has no quota'));
  if (stored + adjustment < 0) faults.push(violation('I2', `uses ${stored + adjustment} bytes`));
  agree('I2', 'stored_bytes', stored, 'files', books.files);
  agree('I2', 'adjustment_bytes', adjustment, 'adjustments', books.adjustments);
  agree('I2', 'charges and refunds in the ledger', books.ledgerFiles, 'posted files', books.postedFiles);
  agree(
    'I2',
    'adjustments in the ledger',
    books.ledgerAdjustments,
    'posted adjustments',
    books.postedAdjustments,
  );
  agree('I2', 'renders_outstanding', books.renders, 'pending pictures', books.pending);
  agree('I3', 'reserved_bytes', books.reserved, 'uploads', books.uploads);
  return faults;
}
