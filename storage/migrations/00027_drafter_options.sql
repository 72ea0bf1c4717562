-- +goose Up
ALTER TABLE model_settings ADD COLUMN draft_window INTEGER; -- NULL = as if nothing were set
ALTER TABLE model_settings ADD COLUMN drafter_bits INTEGER; -- likewise
