-- When fading last lowered the shown importance; null: never, or the host wrote another since.
ALTER TABLE memories ADD COLUMN faded_at INTEGER;
