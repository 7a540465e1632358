-- The run that archived a memory, while it is archived by one.
ALTER TABLE memories ADD COLUMN archived_run TEXT;
-- Why memories are not believed: counted by reason, and listed from the newest on.
CREATE INDEX memories_by_reason ON memories (status_reason, status_at, rid) WHERE status > 0;
-- The ledger from the newest run on, and the run that was cut short: also where a host calls often.
CREATE INDEX runs_by_start ON runs (started_at, run_id);
CREATE INDEX runs_unfinished ON runs (started_at, run_id) WHERE state = 'running';
CREATE INDEX runs_by_kind ON runs (kind, finished_at);
