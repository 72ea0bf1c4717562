-- +goose Up
ALTER TABLE models ADD COLUMN load_ms INTEGER NOT NULL DEFAULT 0; -- of the last load; 0 = never loaded
