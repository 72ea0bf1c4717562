package server

import (
	"net/http"
)

// listModels answers GET /v1/models.
func (v openAIRoutes) listModels(w http.ResponseWriter, r *http.Request) error {
	list, err := v.entries(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
	}{"list", list})
}

// getModel answers GET /v1/models/{id}.
func (v openAIRoutes) getModel(w http.ResponseWriter, r *http.Request) error {
	e, err := v.entry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, e)
}
