-- +goose Up
CREATE TABLE thoughts (
    owner   INTEGER NOT NULL, -- id of the key that it was asked for with; 0 = none
    model   TEXT    NOT NULL,
    history TEXT    NOT NULL, -- hash of the conversation up to the answer, with it
    run     INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tokens  INTEGER NOT NULL,
    sealed  BLOB    NOT NULL, -- only who knows the conversation can open it
    bytes   INTEGER NOT NULL, -- of sealed
    used_at TEXT    NOT NULL, -- when it was stored, or put back
    UNIQUE (owner, model, history)
) STRICT;

CREATE INDEX thoughts_run ON thoughts (run);
CREATE INDEX thoughts_used ON thoughts (used_at, bytes);

-- thoughts that the client had left out of its prompt, and that were put back
ALTER TABLE runs ADD COLUMN put_back_thoughts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN put_back_tokens INTEGER NOT NULL DEFAULT 0;
