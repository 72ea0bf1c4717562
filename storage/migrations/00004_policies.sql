-- +goose Up
CREATE TABLE policies (
    model      TEXT    NOT NULL,
    drafter    TEXT    NOT NULL,
    bucket     INTEGER NOT NULL, -- context length in tokens up to which it holds
    state      TEXT    NOT NULL, -- JSON
    updated_at TEXT    NOT NULL,
    PRIMARY KEY (model, drafter, bucket)
) STRICT;
