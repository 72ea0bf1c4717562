package llamacpp

import (
	"cmp"
	"net/http"

	"tandem/app/control"
	"tandem/app/wire"
	"tandem/engine"
)

// Props are the answer of /props. Editors read the size of the context from it.
type Props struct {
	_          struct{}   `schema:"Props"`
	Defaults   Defaults   `json:"default_generation_settings"`
	TotalSlots int        `json:"total_slots" doc:"Requests that share the model."`
	ModelAlias string     `json:"model_alias"`
	ModelPath  string     `json:"model_path" doc:"The model's id."`
	Modalities Modalities `json:"modalities"`
	BuildInfo  string     `json:"build_info"`
}

// Defaults are what a request has that sets nothing.
type Defaults struct {
	NCtx int `json:"n_ctx" doc:"Tokens."`
}

// Modalities say what a model takes beside text.
type Modalities struct {
	Vision bool `json:"vision"`
	Audio  bool `json:"audio"`
}

// props describes the model of the query, or the chosen one.
func (v Routes) props(w http.ResponseWriter, r *http.Request) error {
	e, err := v.Entry(r.Context(), cmp.Or(r.URL.Query().Get("model"), control.Alias))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, Props{
		Defaults: Defaults{NCtx: e.ContextLength}, TotalSlots: engine.MaxActive,
		ModelAlias: e.ID, ModelPath: e.Root, BuildInfo: "tandem",
	})
}
