-- +goose Up
-- A run is slow by the median of its client's newest runs. An index ends with the id, so this one has
-- them in their order.
CREATE INDEX runs_newest ON runs (client);
