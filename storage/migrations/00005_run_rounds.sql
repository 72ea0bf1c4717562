-- +goose Up
ALTER TABLE runs ADD COLUMN queue_ms            REAL    NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN no_drafter          TEXT    NOT NULL DEFAULT ''; -- why there were no drafts, or no more
ALTER TABLE runs ADD COLUMN verifies            INTEGER NOT NULL DEFAULT 0;  -- of rounds, those with drafts
ALTER TABLE runs ADD COLUMN prediction_accepted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN prediction_rejected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN repeats             INTEGER NOT NULL DEFAULT 0;  -- generated tokens before the text loops; 0 if it does not
ALTER TABLE runs ADD COLUMN speculation         TEXT    NOT NULL DEFAULT ''; -- JSON: round by round
