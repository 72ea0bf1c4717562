-- +goose Up
-- The window asks for the runs of today, for runs that are slow for their client, and for what
-- follows a message of a chat.
CREATE INDEX runs_started ON runs (started_at);
CREATE INDEX runs_client ON runs (client, total_ms);
CREATE INDEX chat_messages_parent ON chat_messages (chat, parent);
