package ollama

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// ollamaVersion is the version of Ollama whose API this is. Programs compare it part by part with
// the version that they need, and accept only numbers.
const ollamaVersion = "0.13.4"

// latest is the tag that Ollama's programs put after a name without one.
const latest = ":latest"

// tagged returns an id with a tag, its own or latest.
func tagged(id string) string {
	if strings.Contains(id[strings.LastIndexByte(id, '/')+1:], ":") {
		return id
	}
	return id + latest
}

// A version is the answer of /api/version.
type version struct {
	_       struct{} `schema:"OllamaVersion"`
	Version string   `json:"version" doc:"Of Ollama whose API this is."`
}

// tags are the answer of /api/tags.
type tags struct {
	_      struct{} `schema:"OllamaTags"`
	Models []Model  `json:"models"`
}

// inMemory is the answer of /api/ps.
type inMemory struct {
	_      struct{}  `schema:"OllamaRunning"`
	Models []Running `json:"models"`
}

// Details say what kind of model a model is.
type Details struct {
	_                 struct{} `schema:"OllamaDetails"`
	ParentModel       string   `json:"parent_model"`
	Format            string   `json:"format"`
	Family            string   `json:"family"`
	Families          []string `json:"families"`
	ParameterSize     string   `json:"parameter_size"`
	QuantizationLevel string   `json:"quantization_level"`
	ContextLength     int      `json:"context_length"`
}

// A Model is one model of /api/tags.
type Model struct {
	Name       string    `json:"name" doc:"With the tag latest."`
	Model      string    `json:"model"` // same as Name
	ModifiedAt time.Time `json:"modified_at"`
	Size       int64     `json:"size" doc:"Bytes."`
	Digest     string    `json:"digest"` // of id and revision, so it changes with them
	Details    Details   `json:"details"`

	root       string // id of the model that has the name
	parameters int64
	kind       string
}

// A Running is one model of /api/ps.
type Running struct {
	Model
	ExpiresAt     time.Time `json:"expires_at"`
	SizeVRAM      int64     `json:"size_vram" doc:"Bytes."`
	ContextLength int       `json:"context_length" doc:"Tokens."`
}

// ollamaModels returns the alias first, then the registered models.
func (v *Routes) ollamaModels(ctx context.Context) ([]Model, error) {
	list, err := v.To.Models.Models(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := v.Entries(ctx)
	if err != nil {
		return nil, err
	}
	out := []Model{}
	for _, e := range entries {
		for _, m := range list {
			if m.ID == e.Root {
				out = append(out, newOllamaModel(e, m))
				break
			}
		}
	}
	return out, nil
}

func newOllamaModel(e api.ModelEntry, m control.Model) Model {
	digest := sha256.Sum256([]byte(m.ID + "\n" + m.Revision))
	o := Model{
		Name: tagged(e.ID), Model: tagged(e.ID), ModifiedAt: m.AddedAt, Size: m.Bytes,
		Digest: hex.EncodeToString(digest[:]), root: m.ID, parameters: m.Parameters,
		kind: m.Kind,
		Details: Details{Format: "safetensors", Family: m.Architecture,
			Families:      []string{m.Architecture},
			ParameterSize: parameterSize(m.Parameters), QuantizationLevel: m.Quantization,
			ContextLength: e.ContextLength},
	}
	if m.Quantization == "" {
		o.Details.QuantizationLevel = m.Dtype
	}
	if m.FileType != "" {
		o.Details.Format, o.Details.QuantizationLevel = "gguf", m.FileType
	}
	return o
}

// parameterSize writes a number of weights as Ollama does.
func parameterSize(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fK", float64(n)/1e3)
}

func (v *Routes) ollamaVersion(w http.ResponseWriter, _ *http.Request) error {
	return wire.WriteJSON(w, version{Version: ollamaVersion})
}

func (v *Routes) ollamaTags(w http.ResponseWriter, r *http.Request) error {
	list, err := v.ollamaModels(r.Context())
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, tags{Models: list})
}

// ollamaPS lists the models in memory, each under all its names: a program looks for the one that it
// asked for.
func (v *Routes) ollamaPS(w http.ResponseWriter, r *http.Request) error {
	running := []Running{}
	if in := v.To.Status.State().InMemory; len(in) > 0 {
		list, err := v.ollamaModels(r.Context())
		if err != nil {
			return err
		}
		until, err := v.idleUntil(r.Context())
		if err != nil {
			return err
		}
		for _, l := range in {
			for _, m := range list {
				if m.root == l.ID {
					running = append(running,
						Running{m, until, cmp.Or(l.Bytes, m.Size), l.ContextLength})
				}
			}
		}
	}
	return wire.WriteJSON(w, inMemory{Models: running})
}

// idleUntil returns the time at which a model that is idle from now on is unloaded. If that is
// never, it is a time far away.
func (v *Routes) idleUntil(ctx context.Context) (time.Time, error) {
	st, err := v.Settings.Settings(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := time.Now().UTC()
	if n := st.Settings.IdleUnloadMinutes; n > 0 {
		return now.Add(time.Duration(n) * time.Minute), nil
	}
	return now.AddDate(100, 0, 0), nil
}
