-- +goose Up
ALTER TABLE models ADD COLUMN file_type TEXT NOT NULL DEFAULT ''; -- of a GGUF file, such as Q4_K_M; empty if it says none
