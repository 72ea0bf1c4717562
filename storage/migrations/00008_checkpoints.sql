-- +goose Up
CREATE TABLE checkpoints (
    id         TEXT    NOT NULL PRIMARY KEY, -- of the file
    parent     TEXT    NOT NULL,             -- file of the text before from_token; empty at the beginning
    model      TEXT    NOT NULL,             -- no reference: files outlive the registry
    key        TEXT    NOT NULL,             -- of the weights and all that what they compute depends on
    context    TEXT    NOT NULL,             -- of the drafter whose context is in it
    kind       TEXT    NOT NULL,             -- prompt or answer
    from_token INTEGER NOT NULL,
    to_token   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    digest     TEXT    NOT NULL,             -- of the text up to to_token
    run        INTEGER NOT NULL,             -- that computed it; 0 = unknown
    hits       INTEGER NOT NULL DEFAULT 0,
    name       TEXT    NOT NULL DEFAULT '',
    pinned     INTEGER NOT NULL DEFAULT 0,
    gone       TEXT    NOT NULL DEFAULT '',  -- why there is no such file any more; empty while there is
    created_at TEXT    NOT NULL,
    used_at    TEXT    NOT NULL              -- restored, or made, or gone
) STRICT;

CREATE INDEX checkpoints_model ON checkpoints (model, to_token);
CREATE INDEX checkpoints_run ON checkpoints (run);
CREATE INDEX checkpoints_parent ON checkpoints (parent);
CREATE INDEX checkpoints_gone ON checkpoints (used_at) WHERE gone <> '';
CREATE UNIQUE INDEX checkpoints_name ON checkpoints (name) WHERE name <> '';

-- What a run's text parted from that was kept, and what is needed to go on with it, or to do it again.
ALTER TABLE runs ADD COLUMN matched_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN parted TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;

CREATE TABLE run_texts (
    run     INTEGER NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    model   TEXT    NOT NULL, -- the run's row has it only once the run has ended
    key     TEXT    NOT NULL, -- of the model as it was loaded, see checkpoints
    request TEXT    NOT NULL, -- body; empty once the run has ended, so that only a crash leaves it
    prompt  INTEGER NOT NULL, -- tokens of it
    file    TEXT    NOT NULL, -- checkpoint of the text's beginning; empty = tail has all
    tokens  INTEGER NOT NULL, -- of the text that are in it
    tail    TEXT,             -- the tokens behind them, int32 little-endian in base64; NULL until the run has ended, or if they are too many
    replay  TEXT    NOT NULL  -- how they were generated
) STRICT;
