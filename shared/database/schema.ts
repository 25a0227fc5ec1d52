import type { ColumnType, Generated } from 'kysely';

/** The tables as Kysely sees them. `bigint` columns arrive as numbers: all byte counts stay within 2^53−1. */
export interface Database {
  users: UsersTable;
  sessions: SessionsTable;
  sign_ups: SignUpsTable;
  signing_keys: SigningKeysTable;
  quotas: QuotasTable;
  uploads: UploadsTable;
  idempotency_keys: IdempotencyKeysTable;
  files: FilesTable;
  variants: VariantsTable;
  quota_adjustments: QuotaAdjustmentsTable;
  ledger_entries: LedgerEntriesTable;
  outbox: OutboxTable;
  sweeps: SweepsTable;
}

type Bytes = Generated<number>;
/** Set by the database unless given. */
type CreatedAt = ColumnType<Date, Date | undefined, never>;

export interface UsersTable {
  id: Generated<string>;
  email: string | null;
  username: string;
  first_name: string | null;
  last_name: string | null;
  image: string | null;
  password_hash: string | null;
  role: Generated<'user' | 'admin'>;
  sign_up_method: Generated<'basic'>;
  email_verified_at: Date | null;
  state: Generated<'active' | 'suspended' | 'deleted'>;
  created_at: CreatedAt;
}

export interface SessionsTable {
  id: string;
  user_id: string;
  refresh_counter: Generated<number>;
  rotated_at: Generated<Date>;
  user_agent: string | null;
  ip: string | null;
  created_at: CreatedAt;
  last_activity_at: Generated<Date>;
  idle_expires_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
}

export interface SignUpsTable {
  id: Generated<string>;
  user_id: string;
  password_hash: string;
  username: string;
  first_name: string | null;
  last_name: string | null;
  image: string | null;
  created_at: CreatedAt;
  expires_at: Date;
  redeemed_at: Date | null;
}

export interface SigningKeysTable {
  kid: string;
  public_jwk: ColumnType<Record<string, unknown>, string, string>;
  private_key_encrypted: string;
  created_at: CreatedAt;
  signs_from: Date;
  signs_until: Date;
  published_until: Date;
}

export interface QuotasTable {
  user_id: string;
  stored_bytes: Bytes;
  adjustment_bytes: Bytes;
  reserved_bytes: Bytes;
  max_bytes: number;
  renders_outstanding: Generated<number>;
}

export interface UploadsTable {
  id: string;
  user_id: string;
  reserved_bytes: number;
  lease_until: Date;
  state: Generated<'open' | 'abandoned' | 'sweeping'>;
  idempotency_key: string | null;
  created_at: CreatedAt;
  swept_at: Date | null;
}

/** One stored file as an upload's answer describes it. */
export interface StoredFileAnswer {
  name: string;
  size: number;
  content_type: string;
  width: number | null;
  height: number | null;
  sha256: string;
}

export interface IdempotencyKeysTable {
  user_id: string;
  key: string;
  files: ColumnType<StoredFileAnswer[], string, never>;
  created_at: CreatedAt;
}

export type RenderState = 'none' | 'pending' | 'rendered' | 'failed';

export interface FilesTable {
  id: string;
  stem: string;
  extension: string;
  user_id: string;
  object_key: string;
  content_type: string;
  size_bytes: number;
  sha256: string;
  original_name: string | null;
  width: number | null;
  height: number | null;
  created_at: CreatedAt;
  state: Generated<'stored' | 'deleting'>;
  deleted_at: Date | null;
  refunded_at: Date | null;
  posted_at: Date | null;
  refund_posted_at: Date | null;
  render_state: RenderState;
  render_attempts: Generated<number>;
  render_error: string | null;
  rendered_set: string | null;
}

export interface VariantsTable {
  file_id: string;
  width: number;
  height: number;
  format: string;
  object_key: string;
  size_bytes: number;
  sha256: string;
  created_at: CreatedAt;
}

export interface QuotaAdjustmentsTable {
  id: Generated<string>;
  user_id: string;
  bytes: number;
  reason: 'increase' | 'set' | 'write-off' | 'repair';
  actor_id: string | null;
  created_at: CreatedAt;
  posted_at: Date | null;
}

export interface LedgerEntriesTable {
  id: Generated<number>;
  user_id: string;
  kind: 'charge' | 'refund' | 'adjustment';
  bytes: number;
  cause_id: string;
  occurred_at: Date;
  posted_at: CreatedAt;
}

export interface OutboxTable {
  id: Generated<string>;
  queue: string;
  name: string;
  payload: ColumnType<Record<string, unknown>, string, never>;
  priority: Generated<number>;
  request_id: string | null;
  created_at: CreatedAt;
  /** A job that must not run earlier; null means at once. */
  not_before: Date | null;
  publish_after: Generated<Date>;
  publishes: Generated<number>;
  failed_at: Date | null;
  failure: string | null;
}

export interface SweepsTable {
  name: string;
  last_run_at: Date;
  result: ColumnType<Record<string, unknown> | null, string | null | undefined, string>;
}
