-- +goose Up
CREATE TABLE drafters (
    model      TEXT NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    choice     TEXT NOT NULL, -- auto, none, or a folder
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE drafter_readings (
    model      TEXT NOT NULL,
    drafter    TEXT NOT NULL, -- its folder
    settings   TEXT NOT NULL, -- JSON, how its checkpoint is read
    trials     TEXT NOT NULL, -- JSON, what each reading was measured at
    updated_at TEXT NOT NULL,
    PRIMARY KEY (model, drafter)
) STRICT;
