-- +goose Up
CREATE TABLE responses (
    id         TEXT    NOT NULL PRIMARY KEY, -- random
    owner      TEXT    NOT NULL,             -- name of the key that it was asked for with; empty = none
    run        INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    previous   TEXT    NOT NULL,             -- response that it goes on from, which may be gone; empty = none
    input      TEXT    NOT NULL,             -- JSON list: what was said to the model, without that of previous
    response   TEXT    NOT NULL,             -- JSON, as it was answered
    bytes      INTEGER NOT NULL,             -- of both
    created_at TEXT    NOT NULL,
    used_at    TEXT    NOT NULL              -- when one that goes on from it was stored last, or this one was
) STRICT;

CREATE INDEX responses_run ON responses (run);
CREATE INDEX responses_used ON responses (used_at);
