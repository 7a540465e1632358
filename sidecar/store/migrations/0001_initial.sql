-- One row per memory for its whole life, whatever its tier: an id can then never live twice.
-- A cold or forgotten memory's payload lies in its segment (segment, frame, line); a hot one's
-- in texts and vectors. Codes are positions in the tuples of sidecar/model.py.
CREATE TABLE memories (
  rid INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tier INTEGER NOT NULL,
  status INTEGER NOT NULL,
  status_reason TEXT,
  status_at INTEGER,
  memory_type INTEGER NOT NULL,
  importance REAL,
  estimate REAL NOT NULL,
  estimator TEXT NOT NULL,
  fade_factor REAL NOT NULL DEFAULT 1.0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_recalled_at INTEGER,
  valid_from INTEGER,
  expires_at INTEGER,
  held_until INTEGER,
  recall_count INTEGER NOT NULL DEFAULT 0,
  use_count INTEGER NOT NULL DEFAULT 0,
  regret_count INTEGER NOT NULL DEFAULT 0,
  success_count INTEGER NOT NULL DEFAULT 0,
  failure_count INTEGER NOT NULL DEFAULT 0,
  usefulness_score REAL NOT NULL DEFAULT 0.0,
  last_useful_at INTEGER,
  superseded_by TEXT,
  pinned INTEGER NOT NULL DEFAULT 0,
  evergreen INTEGER NOT NULL DEFAULT 0,
  media_ref TEXT,
  embedding_model TEXT,
  embedding_dimensions INTEGER,
  revision INTEGER NOT NULL DEFAULT 1,
  change_counter INTEGER NOT NULL DEFAULT 1,
  content_hash BLOB NOT NULL,
  text_bytes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  segment TEXT,
  frame INTEGER,
  line INTEGER,
  forgotten_at INTEGER,
  restored_at INTEGER,
  moved_run TEXT,
  moved_reason INTEGER,
  tier_left INTEGER
) STRICT;
CREATE INDEX memories_by_tier ON memories (tier, rid);
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_by_segment ON memories (segment) WHERE segment IS NOT NULL;
CREATE INDEX memories_by_media ON memories (media_ref) WHERE media_ref IS NOT NULL;
CREATE INDEX memories_forgotten_at ON memories (forgotten_at) WHERE forgotten_at IS NOT NULL;

-- metadata and extra are JSON objects as text, exactly as they were encoded when written.
CREATE TABLE texts (
  rid INTEGER PRIMARY KEY,
  content TEXT NOT NULL,
  metadata TEXT NOT NULL,
  extra TEXT NOT NULL
) STRICT;

-- embedding: little-endian float32, exact.
CREATE TABLE vectors (
  rid INTEGER PRIMARY KEY,
  embedding BLOB NOT NULL
) STRICT;

-- Hot memories only; the text is prepared by sidecar/store/search_text.py.
CREATE VIRTUAL TABLE search USING fts5 (
  text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);
-- A delete never rewrites the index inside its commit, for which every write would wait; runs
-- that delete many do it in small steps afterwards.
INSERT INTO search (search, rank) VALUES ('deletemerge', 0);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  run_id TEXT,
  kind TEXT NOT NULL,
  memory_id TEXT,
  payload TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  trigger TEXT NOT NULL,
  state TEXT NOT NULL,
  plan_id TEXT,
  planned_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  policy TEXT,
  policy_version TEXT,
  settings TEXT NOT NULL,
  decisions INTEGER NOT NULL,
  moved INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  undoes TEXT,
  undone_by TEXT,
  report TEXT
) STRICT;

-- The decision list of a run in row order, one chunk a transaction: a packed array, and the
-- outcome of each decision once the chunk's transaction has committed.
CREATE TABLE run_chunks (
  run_id TEXT NOT NULL,
  chunk INTEGER NOT NULL,
  decisions BLOB NOT NULL,
  outcomes BLOB,
  PRIMARY KEY (run_id, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE segments (
  name TEXT PRIMARY KEY,
  tier INTEGER NOT NULL,
  run_id TEXT,
  records INTEGER NOT NULL,
  live INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  sealed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A file named here may be removed, by this start or the next one. Nothing else may.
CREATE TABLE unlink_intents (
  name TEXT PRIMARY KEY,
  tier INTEGER NOT NULL,
  intended_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The size of each file that a memory names, as last looked at.
CREATE TABLE media (
  ref TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value ANY
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('commits', 0);
