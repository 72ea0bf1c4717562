package openai

import (
	"context"
	"net/http"
	"slices"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// LMStudioModels are the answer of /api/v0/models.
type LMStudioModels struct {
	_      struct{}        `schema:"LMStudioModels"`
	Object string          `json:"object" enum:"list"`
	Data   []LMStudioModel `json:"data"`
}

// An LMStudioModel is one model of /api/v0/models, LM Studio's own list. Editors read the context
// and the state of a model from it.
type LMStudioModel struct {
	_                 struct{} `schema:"LMStudioModel"`
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Type              string   `json:"type" doc:"llm or embeddings."`
	Publisher         string   `json:"publisher"`
	Arch              string   `json:"arch"`
	CompatibilityType string   `json:"compatibility_type"`
	Quantization      string   `json:"quantization"`
	State             string   `json:"state" doc:"loaded or not-loaded."`
	MaxContext        int      `json:"max_context_length" doc:"Tokens."`
	LoadedContext     int      `json:"loaded_context_length,omitempty" doc:"Tokens."`
}

// lmStudioModels returns the models of entries that are still registered.
func (v Routes) lmStudioModels(ctx context.Context, entries ...api.ModelEntry) ([]LMStudioModel,
	error) {
	registered, err := v.To.Models.Models(ctx)
	if err != nil {
		return nil, err
	}
	state, list := v.To.Status.State(), []LMStudioModel{}
	for _, e := range entries {
		at := slices.IndexFunc(registered, func(m control.Model) bool { return m.ID == e.Root })
		if at >= 0 {
			m := registered[at]
			list = append(list, newLMStudioModel(e, m, state.Resident(m.ID)))
		}
	}
	return list, nil
}

// newLMStudioModel describes a model. loaded is nil if it is not in memory.
func newLMStudioModel(e api.ModelEntry, m control.Model, loaded *control.Loaded) LMStudioModel {
	out := LMStudioModel{
		ID: e.ID, Object: "model", Type: "llm", Publisher: e.OwnedBy, Arch: m.Architecture,
		CompatibilityType: "mlx", Quantization: m.Quantization, State: "not-loaded",
		MaxContext: e.ContextLength,
	}
	if m.Quantization == "" {
		out.Quantization = m.Dtype
	}
	if m.FileType != "" {
		out.CompatibilityType, out.Quantization = "gguf", m.FileType
	}
	if m.Kind == control.KindEmbedding {
		out.Type = "embeddings"
	}
	if loaded != nil {
		out.State, out.LoadedContext = "loaded", loaded.ContextLength
	}
	return out
}

func (v Routes) listLMStudio(w http.ResponseWriter, r *http.Request) error {
	entries, err := v.Entries(r.Context())
	if err != nil {
		return err
	}
	list, err := v.lmStudioModels(r.Context(), entries...)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, LMStudioModels{Object: "list", Data: list})
}

func (v Routes) getLMStudio(w http.ResponseWriter, r *http.Request) error {
	e, err := v.Entry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	list, err := v.lmStudioModels(r.Context(), e)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return control.Errorf(control.CodeModelNotFound, "The model %q was just removed.", e.ID)
	}
	return wire.WriteJSON(w, list[0])
}

// lmStudioOperations describe LM Studio's routes for OpenAPI.
var lmStudioOperations = []wire.Operation{
	{
		Method: http.MethodGet, Path: lmStudioBase + "/models", ID: "lmStudioModels",
		Summary: "The models as LM Studio lists them, tandem first.",
		Answer:  wire.AnswerOf[LMStudioModels](), Error: wire.OpenAIErrorShape,
	},
	{
		Method: http.MethodGet, Path: lmStudioBase + "/models/{id}", ID: "lmStudioModel",
		Summary:    "One of them; its id may hold slashes.",
		Parameters: []wire.Parameter{wire.PathID},
		Answer:     wire.AnswerOf[LMStudioModel](), Error: wire.OpenAIErrorShape,
	},
	atLMStudio(chatOperation, "/chat/completions", "lmStudioChat",
		"The next message of a chat, where LM Studio's programs ask for it."),
	atLMStudio(completeOperation, "/completions", "lmStudioComplete",
		"What follows a text, where LM Studio's programs ask for it."),
	atLMStudio(embedOperation, "/embeddings", "lmStudioEmbed",
		"Vectors of texts, where LM Studio's programs ask for them."),
}

// atLMStudio describes one of OpenAI's routes at the path where LM Studio has it.
func atLMStudio(o wire.Operation, path, id, summary string) wire.Operation {
	o.Path, o.ID, o.Summary = lmStudioBase+path, id, summary
	return o
}
