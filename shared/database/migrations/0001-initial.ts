import { type Kysely, sql } from 'kysely';

/** All tables. The reasons for their shape are in the comments; the glossary is in the README. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  // A deleted user stays as a row without personal data: files being removed and the ledger still refer to it.
  `CREATE TABLE users (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    email text UNIQUE,
    username text NOT NULL,
    first_name text,
    last_name text,
    image text,
    password_hash text,
    role text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'admin')),
    sign_up_method text NOT NULL DEFAULT 'basic' CHECK (sign_up_method IN ('basic')),
    email_verified_at timestamptz,
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'deleted')),
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK (email = lower(email)),
    CHECK ((state = 'deleted') = (email IS NULL))
  )`,
  `CREATE INDEX users_newest ON users (created_at DESC, id DESC)`,
  `CREATE INDEX users_deleted ON users (id) WHERE state = 'deleted'`,

  `CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    refresh_counter integer NOT NULL DEFAULT 1,
    rotated_at timestamptz NOT NULL DEFAULT now(),
    user_agent text,
    ip text,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_activity_at timestamptz NOT NULL DEFAULT now(),
    idle_expires_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
  )`,
  `CREATE INDEX sessions_by_user ON sessions (user_id)`,

  // One row per sign-up attempt; its mail's token is an HMAC of the row and is stored nowhere.
  `CREATE TABLE sign_ups (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    user_id uuid NOT NULL REFERENCES users (id),
    password_hash text NOT NULL,
    username text NOT NULL,
    first_name text,
    last_name text,
    image text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    redeemed_at timestamptz
  )`,
  `CREATE INDEX sign_ups_by_user ON sign_ups (user_id)`,

  `CREATE TABLE signing_keys (
    kid text PRIMARY KEY,
    public_jwk jsonb NOT NULL,
    private_key_encrypted text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    signs_from timestamptz NOT NULL,
    signs_until timestamptz NOT NULL,
    published_until timestamptz NOT NULL
  )`,

  `CREATE TABLE quotas (
    user_id uuid PRIMARY KEY REFERENCES users (id),
    stored_bytes bigint NOT NULL DEFAULT 0 CHECK (stored_bytes >= 0),
    adjustment_bytes bigint NOT NULL DEFAULT 0,
    reserved_bytes bigint NOT NULL DEFAULT 0 CHECK (reserved_bytes >= 0),
    max_bytes bigint NOT NULL CHECK (max_bytes >= 0),
    renders_outstanding integer NOT NULL DEFAULT 0 CHECK (renders_outstanding >= 0),
    CHECK (stored_bytes + adjustment_bytes >= 0)
  ) WITH (fillfactor = 50)`,

  // The intent of an upload: objects originals/<id>/0…19 exist or are about to. 'open' until finish deletes the
  // row, or until the request gives up ('abandoned') or a sweep takes it ('sweeping').
  `CREATE TABLE uploads (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    reserved_bytes bigint NOT NULL CHECK (reserved_bytes >= 0),
    lease_until timestamptz NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'abandoned', 'sweeping')),
    idempotency_key text,
    created_at timestamptz NOT NULL DEFAULT now(),
    swept_at timestamptz,
    CHECK (state = 'open' OR reserved_bytes = 0)
  )`,
  `CREATE INDEX uploads_by_lease ON uploads (lease_until)`,
  `CREATE UNIQUE INDEX uploads_idempotency ON uploads (user_id, idempotency_key) WHERE state = 'open' AND idempotency_key IS NOT NULL`,

  // The first answer to an Idempotency-Key, kept for 24 hours.
  `CREATE TABLE idempotency_keys (
    user_id uuid NOT NULL REFERENCES users (id),
    key text NOT NULL,
    files jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
  )`,
  `CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)`,

  // posted_at, refunded_at and refund_posted_at carry a file's bytes through the quota and into the ledger. Object
  // keys are in the order in which an S3 server lists them, so that the audit can walk both side by side.
  `CREATE TABLE files (
    id uuid PRIMARY KEY,
    stem text NOT NULL UNIQUE,
    extension text NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    object_key text COLLATE "C" NOT NULL UNIQUE,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    sha256 text NOT NULL,
    original_name text,
    width integer,
    height integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'stored' CHECK (state IN ('stored', 'deleting')),
    deleted_at timestamptz,
    refunded_at timestamptz,
    posted_at timestamptz,
    refund_posted_at timestamptz,
    render_state text NOT NULL CHECK (render_state IN ('none', 'pending', 'rendered', 'failed')),
    render_attempts integer NOT NULL DEFAULT 0,
    render_error text,
    rendered_set text
  )`,
  `CREATE INDEX files_by_user ON files (user_id, created_at DESC, id DESC)`,
  `CREATE INDEX files_newest ON files (created_at DESC, id DESC)`,
  `CREATE INDEX files_unposted_charges ON files (user_id) WHERE posted_at IS NULL`,
  `CREATE INDEX files_unposted_refunds ON files (user_id) WHERE refunded_at IS NOT NULL AND refund_posted_at IS NULL`,
  `CREATE INDEX files_deleting ON files (deleted_at) WHERE state = 'deleting'`,
  `CREATE INDEX files_pending_renders ON files (created_at) WHERE render_state = 'pending' AND state = 'stored'`,
  `CREATE INDEX files_rendered_sets ON files (rendered_set, id) WHERE render_state = 'rendered' AND state = 'stored'`,

  `CREATE TABLE variants (
    file_id uuid NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    width integer NOT NULL,
    height integer NOT NULL,
    format text NOT NULL,
    object_key text NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (file_id, width, format)
  )`,

  // What /quota/increase, /quota/set and write-offs did, until (and after) the ledger has it.
  `CREATE TABLE quota_adjustments (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    user_id uuid NOT NULL REFERENCES users (id),
    bytes bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN ('increase', 'set', 'write-off', 'repair')),
    actor_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    posted_at timestamptz
  )`,
  `CREATE INDEX quota_adjustments_unposted ON quota_adjustments (user_id) WHERE posted_at IS NULL`,

  // Append-only. (kind, cause_id) makes posting idempotent.
  `CREATE TABLE ledger_entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    kind text NOT NULL CHECK (kind IN ('charge', 'refund', 'adjustment')),
    bytes bigint NOT NULL,
    cause_id uuid NOT NULL,
    occurred_at timestamptz NOT NULL,
    posted_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (kind, cause_id)
  )`,
  `CREATE INDEX ledger_entries_by_user ON ledger_entries (user_id, id)`,

  // A job is a row here first. The row goes in the transaction of the job's effect, or says why it failed for good.
  `CREATE TABLE outbox (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    queue text NOT NULL,
    name text NOT NULL,
    payload jsonb NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    not_before timestamptz,
    publish_after timestamptz NOT NULL DEFAULT now(),
    publishes integer NOT NULL DEFAULT 0,
    failed_at timestamptz,
    failure text
  )`,
  // Two, so that a new job is found at once among any number of open ones that are published again.
  `CREATE INDEX outbox_new ON outbox (publish_after) WHERE failed_at IS NULL AND publishes = 0`,
  `CREATE INDEX outbox_again ON outbox (publish_after) WHERE failed_at IS NULL AND publishes > 0`,
  // A user's charges gather behind one job that is not published yet.
  `CREATE INDEX outbox_waiting_postings ON outbox ((payload->>'userId'))
    WHERE name = 'post-usage' AND publishes = 0 AND failed_at IS NULL`,
  `CREATE INDEX outbox_failed ON outbox (failed_at) WHERE failed_at IS NOT NULL`,

  // Periodic work is claimed by moving last_run_at forward. result: what the last run found, for all processes to show.
  `CREATE TABLE sweeps (
    name text PRIMARY KEY,
    last_run_at timestamptz NOT NULL,
    result jsonb
  )`,

  `CREATE TABLE rate_limits (
    key text PRIMARY KEY,
    points integer NOT NULL DEFAULT 0,
    expire bigint
  )`,
];
