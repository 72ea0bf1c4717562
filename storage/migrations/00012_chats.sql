-- +goose Up
CREATE TABLE chats (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL CHECK (kind IN ('chat', 'code')),
    title      TEXT    NOT NULL, -- a person's, or made of the first message; empty before that
    system     TEXT    NOT NULL, -- what the model is told first
    options    TEXT    NOT NULL, -- JSON, the page's: how to sample
    leaf       INTEGER NOT NULL, -- message that the shown branch ends with; 0 while there is none
    used       INTEGER NOT NULL, -- counts up: the greater, the later it was written to
    created_at TEXT    NOT NULL,
    updated_at TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX chats_used ON chats (used);

CREATE TABLE chat_messages (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    chat       INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    parent     INTEGER NOT NULL, -- message that it follows; 0 = it begins the chat
    role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    content    TEXT    NOT NULL,
    model      TEXT    NOT NULL, -- that answered
    finish     TEXT    NOT NULL, -- why it ended; empty while it grows, or if nobody saw its end
    run        INTEGER NOT NULL, -- that generated it; 0 = unknown, or a person's
    facts      TEXT    NOT NULL, -- JSON, the page's: timings, what was drafted
    created_at TEXT    NOT NULL
) STRICT;

CREATE INDEX chat_messages_chat ON chat_messages (chat, id);
