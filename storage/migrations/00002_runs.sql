-- +goose Up
CREATE TABLE runs (
    id                INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    started_at        TEXT    NOT NULL,
    ended_at          TEXT,             -- NULL while the run is in flight
    client            TEXT    NOT NULL,
    endpoint          TEXT    NOT NULL,
    model             TEXT    NOT NULL, -- no reference: history outlives the registry
    drafter           TEXT    NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    drafted           INTEGER NOT NULL,
    accepted          INTEGER NOT NULL,
    rounds            INTEGER NOT NULL,
    syncs             INTEGER NOT NULL,
    load_ms           REAL    NOT NULL,
    restore_ms        REAL    NOT NULL,
    prefill_ms        REAL    NOT NULL,
    first_token_ms    REAL    NOT NULL,
    draft_ms          REAL    NOT NULL,
    verify_ms         REAL    NOT NULL,
    total_ms          REAL    NOT NULL,
    peak_bytes        INTEGER NOT NULL,
    finish_reason     TEXT    NOT NULL,
    miss_reason       TEXT    NOT NULL,
    error             TEXT    NOT NULL,
    seed              INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_model ON runs (model, id);
CREATE INDEX runs_open ON runs (id) WHERE ended_at IS NULL;
