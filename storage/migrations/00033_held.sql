-- +goose Up
ALTER TABLE runs DROP COLUMN held; -- quantized weights have one form
