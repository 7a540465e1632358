-- Files of forgotten memories: on their way to the trash, in it, or on their way back. A row is
-- written in the transaction that moves the memory; the file follows it, never the other way.
-- state: leaving and returning are intents, which a start takes up again; trashed: it lies in
-- media/.trash under trashed_as; returned, kept (a live memory names it again), missing, refused
-- (no plain file of its own) and lost (gone from the trash) are ends.
CREATE TABLE media_trash (
  trash_id INTEGER PRIMARY KEY AUTOINCREMENT,
  ref TEXT NOT NULL,
  run_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  trashed_as TEXT NOT NULL,
  state TEXT NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL,
  returned_run TEXT
) STRICT;
CREATE INDEX media_trash_by_ref ON media_trash (ref, state);
CREATE INDEX media_trash_by_run ON media_trash (run_id);
CREATE INDEX media_trash_intents ON media_trash (trash_id)
  WHERE state IN ('leaving', 'returning');

-- With the tier: many may name one file, and the question is whether a live one does.
DROP INDEX memories_by_media;
CREATE INDEX memories_by_media ON memories (media_ref, tier) WHERE media_ref IS NOT NULL;
