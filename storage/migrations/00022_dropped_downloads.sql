-- +goose Up
-- 1 = cancelled, and what it began stays in the cache: whoever begins it again and discards that finds it by its blobs.
ALTER TABLE downloads ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
