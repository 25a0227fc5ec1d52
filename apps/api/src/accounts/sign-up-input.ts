import { normaliseEmail } from './email-address.ts';
import { type FieldError, invalidInput } from './field-errors.ts';
import type { Passwords } from './passwords.ts';

/** A sign-up as it arrives. */
export interface SignUpInput {
  readonly email: string;
  readonly password: string;
  readonly username?: string | null;
  readonly firstName?: string | null;
  readonly lastName?: string | null;
  readonly image?: string | null;
}

/** A sign-up that may be carried out, under the names of the columns. */
export interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly username: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly image: string | null;
}

const MAX_CHARACTERS = { username: 100, firstName: 100, lastName: 100, image: 2_048 } as const;
/** Control characters and lone surrogates: no name has them, and Postgres takes neither NUL nor the latter. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * Checks a sign-up. Texts are trimmed, empty ones count as not given; without a user name it is the part of the
 * address before the @.
 * @throws {AppError} INVALID_REQUEST naming all bad fields
 */
export function parseSignUp(input: SignUpInput, passwords: Passwords): NewAccount {
  const errors: FieldError[] = [];
  const email = normaliseEmail(input.email);
  if (email === undefined)
    errors.push({ field: 'email', code: 'EMAIL_INVALID', message: 'This is not an e-mail address.' });
  const passwordFault = passwords.fault(input.password);
  if (passwordFault !== undefined) errors.push(passwordFault);

  const text = (field: keyof typeof MAX_CHARACTERS): string | null => {
    const value = input[field]?.trim().normalize('NFC') ?? '';
    if ([...value].length > MAX_CHARACTERS[field])
      errors.push({
        field,
        code: 'TEXT_TOO_LONG',
        message: `${field} may have at most ${MAX_CHARACTERS[field]} characters.`,
      });
    else if (UNPRINTABLE.test(value))
      errors.push({ field, code: 'TEXT_INVALID', message: `${field} has characters that do not print.` });
    return value === '' ? null : value;
  };
  const username = text('username');
  const profile = { first_name: text('firstName'), last_name: text('lastName'), image: text('image') };
  if (errors.length > 0 || email === undefined) throw invalidInput(errors);
  return {
    email,
    password: input.password,
    username: username ?? email.slice(0, email.lastIndexOf('@')),
    ...profile,
  };
}
