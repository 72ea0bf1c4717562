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

// Residents unload models from memory.
type Residents interface {
	// Unload frees a model. If the model is in use it returns CodeModelBusy. A model that is not in
	// memory is no error.
	Unload(ctx context.Context, id string) error
}

// Settings are the user's choices.
type Settings interface {
	Settings(ctx context.Context) (control.SettingsState, error)
}

// AddRoutes adds the routes.
func (v Routes) AddRoutes(route wire.AddRoute) {
	route.Get("/api/version", v.ollamaVersion)
	route.Get("/api/tags", v.ollamaTags)
	route.Get("/api/ps", v.ollamaPS)
	route.Post("/api/show", v.ollamaShow)
	route.Post("/api/pull", v.ollamaPull)
	route.Post("/api/generate", v.ollamaGeneration("/api/generate", readOllamaGenerate, noPrompt))
	route.Post("/api/chat", v.ollamaGeneration("/api/chat", readOllamaChat, noMessages))
	route.Post("/api/embed", v.ollamaTexts("/api/embed", readOllamaEmbed))
	route.Post("/api/embeddings", v.ollamaTexts("/api/embeddings", readOllamaEmbedding))
}
