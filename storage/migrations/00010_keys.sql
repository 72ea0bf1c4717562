-- +goose Up
CREATE TABLE keys (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    hash       TEXT    NOT NULL UNIQUE, -- SHA-256 of the key, in hexadecimal; the key itself is nowhere
    created_at TEXT    NOT NULL,
    used_at    TEXT                     -- NULL until it is
) STRICT;
