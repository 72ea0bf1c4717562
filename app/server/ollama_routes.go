package server

import (
	"context"

	"tandem/app/control"
)

// ollamaRoutes are Ollama's routes.
type ollamaRoutes struct {
	*API
	residents unloader
	settings  settingsReader
}

// An unloader frees models in memory.
type unloader interface {
	// Unload frees a model. One in use is CodeModelBusy. It is no error if there is none.
	Unload(ctx context.Context, id string) error
}

// A settingsReader returns the settings in force.
type settingsReader interface {
	Settings(ctx context.Context) (control.SettingsState, error)
}

// addRoutes adds them.
func (v ollamaRoutes) addRoutes(route addRoute) {
	route.get("/api/version", v.ollamaVersion)
	route.get("/api/tags", v.ollamaTags)
	route.get("/api/ps", v.ollamaPS)
	route.post("/api/show", v.ollamaShow)
	route.post("/api/generate", v.ollamaGeneration("/api/generate", readOllamaGenerate, noPrompt))
	route.post("/api/chat", v.ollamaGeneration("/api/chat", readOllamaChat, noMessages))
	route.post("/api/embed", v.textsRoute("/api/embed", readOllamaEmbed))
	route.post("/api/embeddings", v.textsRoute("/api/embeddings", readOllamaEmbedding))
}

// ollamaReaders returns how the bodies of the generating routes are read.
func ollamaReaders() map[string]readBody {
	return map[string]readBody{"/api/generate": readOllamaGenerate, "/api/chat": readOllamaChat}
}
