-- +goose Up
CREATE TABLE benches (
    id      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at      TEXT    NOT NULL,
    model   TEXT    NOT NULL, -- no reference: figures outlive the registry
    machine TEXT    NOT NULL,
    version TEXT    NOT NULL, -- of the program
    result  TEXT    NOT NULL  -- JSON
) STRICT;
