import type { UsersTable } from '@stowage/shared/database/schema.ts';
import type { Selectable } from 'kysely';

/** The columns that a user record is made of. */
export const USER_COLUMNS = [
  'id',
  'email',
  'username',
  'first_name',
  'last_name',
  'image',
  'role',
  'sign_up_method',
  'email_verified_at',
  'created_at',
] as const;

/** A user as GraphQL shows it. Enum values are their names in the schema. */
export interface UserRecord {
  readonly id: string;
  readonly email: string;
  readonly username: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly image: string | null;
  readonly role: 'USER' | 'ADMIN';
  readonly signUpMethod: 'BASIC';
  readonly emailVerified: boolean;
  readonly createdAt: string;
}

const ROLES = { user: 'USER', admin: 'ADMIN' } as const;
const SIGN_UP_METHODS = { basic: 'BASIC' } as const;

/** The record of a user's row. Deleted users have no record, so there always is an address. */
export function userRecord(row: Pick<Selectable<UsersTable>, (typeof USER_COLUMNS)[number]>): UserRecord {
  return {
    id: row.id,
    email: row.email ?? '',
    username: row.username,
    firstName: row.first_name,
    lastName: row.last_name,
    image: row.image,
    role: ROLES[row.role],
    signUpMethod: SIGN_UP_METHODS[row.sign_up_method],
    emailVerified: row.email_verified_at !== null,
    createdAt: row.created_at.toISOString(),
  };
}
