-- +goose Up
CREATE TABLE model_settings (
    model              TEXT    NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    context            INTEGER, -- tokens; NULL here and below = as if nothing were set
    depth              INTEGER, -- drafts in each round
    rule               TEXT    NOT NULL, -- of acceptance; empty = the default
    temperature        REAL,
    top_p              REAL,
    top_k              INTEGER,
    min_p              REAL,
    repetition_penalty REAL,
    keep_loaded        INTEGER NOT NULL -- it does not leave the memory for being idle
) STRICT;

CREATE TABLE downloads (
    id         TEXT    NOT NULL PRIMARY KEY, -- at the hub
    revision   TEXT    NOT NULL, -- empty = main
    paused     INTEGER NOT NULL, -- a person stopped it
    error      TEXT    NOT NULL, -- why it failed; empty if it did not
    done       INTEGER NOT NULL, -- bytes, when it stopped last
    total      INTEGER NOT NULL, -- bytes; 0 = not known
    blobs      TEXT    NOT NULL, -- JSON, names of the files that it began
    started_at TEXT    NOT NULL
) STRICT;
