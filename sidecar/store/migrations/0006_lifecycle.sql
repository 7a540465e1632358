-- The run that archived a memory, while it is archived by one.
ALTER TABLE memories ADD COLUMN archived_run TEXT;
-- Why memories are not believed: counted by reason, and listed from the newest on.
CREATE INDEX memories_by_reason ON memories (status_reason, status_at, rid) WHERE status > 0;
