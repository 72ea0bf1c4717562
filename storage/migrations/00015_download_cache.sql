-- +goose Up
ALTER TABLE downloads ADD COLUMN cache TEXT NOT NULL DEFAULT ''; -- folder that it fetches into; empty = not known
