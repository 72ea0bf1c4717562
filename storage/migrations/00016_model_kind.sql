-- +goose Up
ALTER TABLE models ADD COLUMN kind TEXT NOT NULL DEFAULT ''; -- embedding or reranker; empty if it goes on with texts
