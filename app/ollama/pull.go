package ollama

import (
	"net/http"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// A pulled is the answer of /api/pull.
type pulled struct {
	_      struct{} `schema:"OllamaPulled" doc:"Whole, or a line of a stream."`
	Status string   `json:"status" enum:"success"`
}

// ollamaPull answers programs that pull a model before they use it. Requests download nothing.
func (v *Routes) ollamaPull(w http.ResponseWriter, r *http.Request) error {
	f, err := v.ReadObject(w, r)
	if err != nil {
		return err
	}
	f.As(pullRequestShape)
	stream := api.First(true, wire.ReadOptional(f, "stream", f.Bool))
	name := neededModel(f, "model", "name")
	if f.Err() != nil {
		return f.Err()
	}
	_, m, err := v.find(r.Context(), name)
	if err != nil {
		return err
	}
	if m == nil { // programs look for Ollama's words
		return control.Errorf(control.CodeModelNotFound,
			"pull model manifest: file does not exist: %q is not installed.", wire.Clip(name)).
			Advise(control.ToPull)
	}
	if stream {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_ = wire.WriteWhole(w, http.StatusOK, append(wire.Encode(pulled{Status: "success"}), '\n')) // the client left
		return nil
	}
	return wire.WriteJSON(w, pulled{Status: "success"})
}

// Unserved are Ollama's routes that would change the models.
var Unserved = []string{"/api/copy", "/api/create", "/api/delete", "/api/push"}
