-- When fading last lowered the shown importance; null: never, or the host wrote another since.
ALTER TABLE memories ADD COLUMN faded_at INTEGER;
-- What a cycle's decisions have besides those of other runs, packed like them.
ALTER TABLE run_chunks ADD COLUMN details BLOB;
