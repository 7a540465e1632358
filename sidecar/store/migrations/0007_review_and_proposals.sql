-- Regrets, one row a memory: how many there were ever, when the newest were (a JSON array of ms,
-- ascending), and when the last and the fifth last came (null: fewer), by which a status counts
-- what is to be looked at without reading anything else.
CREATE TABLE regrets (
  memory_id TEXT PRIMARY KEY,
  total INTEGER NOT NULL,
  times TEXT NOT NULL,
  latest_at INTEGER NOT NULL,
  fifth_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX regrets_latest ON regrets (latest_at);
CREATE INDEX regrets_fifth ON regrets (fifth_at) WHERE fifth_at IS NOT NULL;

-- What the log still tells of them.
INSERT INTO regrets
  WITH told AS (
    SELECT memory_id, payload ->> 'cited_at' AS at,
      row_number() OVER (PARTITION BY memory_id ORDER BY payload ->> 'cited_at' DESC, seq DESC)
        AS place,
      count(*) OVER (PARTITION BY memory_id) AS total
    FROM events WHERE kind = 'retrieval.regret' AND memory_id IS NOT NULL
  )
  SELECT memory_id, max(total), json_group_array(at ORDER BY place DESC),
    max(at) FILTER (WHERE place = 1), max(at) FILTER (WHERE place = 5)
  FROM told WHERE place <= 100 GROUP BY memory_id;

-- Near memories that the guard kept apart in the last cycle, each as it then was.
CREATE TABLE guarded_pairs (
  memory_id TEXT NOT NULL,
  other_id TEXT NOT NULL,
  difference TEXT NOT NULL,
  revision INTEGER NOT NULL,
  other_revision INTEGER NOT NULL,
  flagged_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (memory_id, other_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX guarded_pairs_by_other ON guarded_pairs (other_id);

-- What was looked at. An item stays away while its marks are these: for regrets how many there
-- were, else the revisions of the memories.
CREATE TABLE review_cleared (
  reason TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  other_id TEXT NOT NULL,
  mark INTEGER NOT NULL,
  other_mark INTEGER NOT NULL,
  cleared_at INTEGER NOT NULL,
  PRIMARY KEY (reason, memory_id, other_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX review_cleared_by_memory ON review_cleared (memory_id);
CREATE INDEX review_cleared_by_other ON review_cleared (other_id);

-- What may become a memory. status: 0 pending, 1 accepted, 2 rejected. An accepted one has the id
-- of its memory and no text of its own any more. supersedes_revision is that of the memory named
-- when the proposal came.
CREATE TABLE proposals (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  status INTEGER NOT NULL,
  memory_type INTEGER NOT NULL,
  content TEXT,
  metadata TEXT NOT NULL,
  confidence REAL NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_reason TEXT,
  supersedes TEXT,
  supersedes_revision INTEGER
) STRICT;
CREATE INDEX proposals_by_status ON proposals (status, number);
CREATE INDEX proposals_by_decision ON proposals (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX proposals_by_supersedes ON proposals (supersedes) WHERE supersedes IS NOT NULL;
