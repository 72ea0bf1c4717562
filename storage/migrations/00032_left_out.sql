-- +goose Up
ALTER TABLE runs ADD COLUMN left_out TEXT NOT NULL DEFAULT ''; -- what of the request the model did not get
