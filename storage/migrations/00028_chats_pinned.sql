-- +goose Up
ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0; -- 1 = it stands before all others
