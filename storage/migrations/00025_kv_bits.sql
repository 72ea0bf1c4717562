-- +goose Up
-- bits of an element in the keys and values that a model keeps; 0 = as they are computed
ALTER TABLE runs ADD COLUMN kv_bits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_settings ADD COLUMN kv_bits INTEGER; -- NULL = as if nothing were set
