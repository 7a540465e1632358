-- What remains of a destroyed memory: its id and its content as hashes under the salt that `meta`
-- keeps for this namespace alone, and when, why and by which run it went.
CREATE TABLE tombstones (
  id_hash TEXT PRIMARY KEY,
  content_hash TEXT NOT NULL,
  destroyed_at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What folded events said of destroyed memories: the start of a replay.
CREATE TABLE tombstone_checkpoint (
  id_hash TEXT PRIMARY KEY,
  content_hash TEXT NOT NULL,
  destroyed_at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The list of a destruction that is under way, in row order, one chunk a transaction; the
-- outcomes come with the transaction that made them true. Gone when the run is finished.
CREATE TABLE destruction_chunks (
  run_id TEXT NOT NULL,
  chunk INTEGER NOT NULL,
  decisions BLOB NOT NULL,
  outcomes BLOB,
  PRIMARY KEY (run_id, chunk)
) STRICT, WITHOUT ROWID;

-- A file below `media` named here belonged to destroyed memories only, and may be removed.
CREATE TABLE media_unlink_intents (
  path TEXT PRIMARY KEY,
  intended_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
