-- +goose Up
ALTER TABLE runs ADD COLUMN verdict TEXT NOT NULL DEFAULT ''; -- JSON: how the answer compared when it was last computed again

-- Milliseconds of prefill that uses saved, at the pace measured then, less what restoring took.
ALTER TABLE checkpoints ADD COLUMN saved_ms REAL NOT NULL DEFAULT 0;
