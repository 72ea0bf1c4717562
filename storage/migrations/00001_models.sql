-- +goose Up
CREATE TABLE models (
    id               TEXT    NOT NULL PRIMARY KEY, -- org/name, or the folder's name
    path             TEXT    NOT NULL,             -- folder of config.json; empty for an embedded model
    source           TEXT    NOT NULL,             -- hub, folder, pocket
    revision         TEXT    NOT NULL,             -- commit hash at the hub
    architecture     TEXT    NOT NULL,
    quantization     TEXT    NOT NULL,             -- e.g. affine 4-bit/64; empty for float weights
    dtype            TEXT    NOT NULL,
    parameters       INTEGER NOT NULL,
    bytes            INTEGER NOT NULL,             -- of the weight files
    context_length   INTEGER NOT NULL,
    downloaded_by_us INTEGER NOT NULL CHECK (downloaded_by_us IN (0, 1)),
    added_at         TEXT    NOT NULL,
    last_used_at     TEXT
) STRICT;

CREATE UNIQUE INDEX models_path ON models (path) WHERE path <> '';
