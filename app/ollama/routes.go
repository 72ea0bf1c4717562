package ollama

import (
	"context"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// Routes are Ollama's routes.
type Routes struct {
	*api.API
	Residents Residents
	Settings  Settings
}

// Residents are the models in memory.
type Residents interface {
	// Unload frees a model. One in use is CodeModelBusy. It is no error if there is none.
	Unload(ctx context.Context, id string) error
}

// Settings are the choices of the person who uses Tandem.
type Settings interface {
	Settings(ctx context.Context) (control.SettingsState, error)
}

// AddRoutes adds them.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Get("/api/version", v.ollamaVersion)
	route.Get("/api/tags", v.ollamaTags)
	route.Get("/api/ps", v.ollamaPS)
	route.Post("/api/show", v.ollamaShow)
	route.Post("/api/generate", v.ollamaGeneration("/api/generate", readOllamaGenerate, noPrompt))
	route.Post("/api/chat", v.ollamaGeneration("/api/chat", readOllamaChat, noMessages))
	route.Post("/api/embed", v.TextsRoute("/api/embed", readOllamaEmbed))
	route.Post("/api/embeddings", v.TextsRoute("/api/embeddings", readOllamaEmbedding))
}

// Readers returns how the bodies of the generating routes are read.
func Readers() map[string]api.ReadBody {
	return map[string]api.ReadBody{"/api/generate": readOllamaGenerate, "/api/chat": readOllamaChat}
}
