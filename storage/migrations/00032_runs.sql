-- +goose Up
ALTER TABLE runs ADD COLUMN left_out TEXT NOT NULL DEFAULT ''; -- what of the request the model did not get
ALTER TABLE runs ADD COLUMN beside_ms REAL NOT NULL DEFAULT 0; -- in which other requests were read or answered
