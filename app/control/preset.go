package control

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
