-- +goose Up
CREATE TABLE drafter_files (
    id               TEXT NOT NULL PRIMARY KEY, -- at the hub
    path             TEXT NOT NULL,             -- of the snapshot
    revision         TEXT NOT NULL,
    downloaded_by_us INTEGER NOT NULL,
    created_at       TEXT NOT NULL
) STRICT;
