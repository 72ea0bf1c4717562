package openai

import (
	"net/http"

	"tandem/app/api"
	"tandem/app/wire"
)

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	_      struct{}         `schema:"ModelList"`
	Object string           `json:"object" enum:"list"`
	Data   []api.ModelEntry `json:"data"`
}

// ListModels answers GET /v1/models.
func (v Routes) ListModels(w http.ResponseWriter, r *http.Request) error {
	list, err := v.Entries(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, ModelList{Object: "list", Data: list})
}

// GetModel answers GET /v1/models/{id}.
func (v Routes) GetModel(w http.ResponseWriter, r *http.Request) error {
	e, err := v.Entry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, e)
}
