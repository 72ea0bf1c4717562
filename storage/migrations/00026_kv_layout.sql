-- +goose Up
-- how rows were kept, and the measured bytes of the caches at the end of a run
ALTER TABLE runs ADD COLUMN kv_layout TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN kv_exact_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN kv_own_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN kv_restored_bytes INTEGER NOT NULL DEFAULT 0;
