-- +goose Up
ALTER TABLE runs ADD COLUMN held TEXT NOT NULL DEFAULT ''; -- how quantized weights were held
