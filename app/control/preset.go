package control

import (
	"context"
	"net/http"
	"net/url"
)

// A Preset is a system prompt with a name, for chats to come. It is the body of POST /app/presets,
// which replaces the preset of that name, and the answer.
type Preset struct {
	Name   string `json:"name" need:"name the preset"`
	System string `json:"system"`
}

// Presets is the answer of GET /app/presets, and of DELETE /app/presets/{name}: all that there are.
type Presets struct {
	Presets []Preset `json:"presets"` // by their names
}

// Presets lists the named system prompts.
func (c *Client) Presets(ctx context.Context) (Presets, error) {
	return call[Presets](ctx, c, http.MethodGet, "/app/presets", nil)
}

// SetPreset keeps a system prompt under its name.
func (c *Client) SetPreset(ctx context.Context, p Preset) error {
	_, err := call[Preset](ctx, c, http.MethodPost, "/app/presets", p)
	return err
}

// DeletePreset deletes the system prompt of a name, and returns the others.
func (c *Client) DeletePreset(ctx context.Context, name string) (Presets, error) {
	return call[Presets](ctx, c, http.MethodDelete, "/app/presets/"+url.PathEscape(name), nil)
}
