-- What folded events said of each memory, taken together: the start of a replay.
CREATE TABLE event_checkpoint (
  memory_id TEXT PRIMARY KEY,
  payload TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Writes that carried an idempotency key, with their reply once there is one.
CREATE TABLE idempotency (
  key TEXT PRIMARY KEY,
  method TEXT NOT NULL,
  parameters BLOB NOT NULL,
  at INTEGER NOT NULL,
  run_id TEXT,
  reply TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);
