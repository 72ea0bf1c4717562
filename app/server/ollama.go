package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tandem/app/control"
)

// ollamaVersion is the version of Ollama whose API this is. Programs compare it
// with the one that they need, part by part, and take numbers alone.
const ollamaVersion = "0.12.11"

// latest is the tag that Ollama's programs put behind a name without one.
const latest = ":latest"

// ollamaID is the id, or the alias, of a model that an Ollama program names.
func ollamaID(name string) string { return strings.TrimSuffix(name, latest) }

// An ollamaDetails says what kind of model one is.
type ollamaDetails struct {
	ParentModel       string   `json:"parent_model"`
	Format            string   `json:"format"`
	Family            string   `json:"family"`
	Families          []string `json:"families"`
	ParameterSize     string   `json:"parameter_size"`
	QuantizationLevel string   `json:"quantization_level"`
	ContextLength     int      `json:"context_length"`
}

// An ollamaModel is one model of /api/tags.
type ollamaModel struct {
	Name       string        `json:"name"`
	Model      string        `json:"model"` // the same
	ModifiedAt time.Time     `json:"modified_at"`
	Size       int64         `json:"size"`   // bytes
	Digest     string        `json:"digest"` // of id and revision: it differs where these do
	Details    ollamaDetails `json:"details"`

	parameters int64
	kind       string
}

// A runningModel is one of /api/ps.
type runningModel struct {
	ollamaModel
	ExpiresAt     time.Time `json:"expires_at"`
	SizeVRAM      int64     `json:"size_vram"`      // bytes
	ContextLength int       `json:"context_length"` // tokens
}

// ollamaModels lists the alias first, then the registry.
func (v *ollamaRoutes) ollamaModels(ctx context.Context) ([]ollamaModel, error) {
	list, err := v.to.Models.Models(ctx)
	if err != nil {
		return nil, err
	}
	lengths, err := v.entries(ctx)
	if err != nil {
		return nil, err
	}
	out := []ollamaModel{}
	for _, e := range lengths {
		for _, m := range list {
			if m.ID == e.Root {
				out = append(out, newOllamaModel(e, m))
				break
			}
		}
	}
	return out, nil
}

func newOllamaModel(e modelEntry, m control.Model) ollamaModel {
	digest := sha256.Sum256([]byte(m.ID + "\n" + m.Revision))
	o := ollamaModel{
		Name: e.ID + latest, Model: e.ID + latest, ModifiedAt: m.AddedAt, Size: m.Bytes, Digest: hex.EncodeToString(digest[:]), parameters: m.Parameters, kind: m.Kind,
		Details: ollamaDetails{Format: "safetensors", Family: m.Architecture, Families: []string{m.Architecture},
			ParameterSize: parameterSize(m.Parameters), QuantizationLevel: m.Quantization, ContextLength: e.ContextLength},
	}
	if m.Quantization == "" {
		o.Details.QuantizationLevel = m.Dtype
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

func (v *ollamaRoutes) ollamaVersion(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, map[string]string{"version": ollamaVersion})
}

func (v *ollamaRoutes) ollamaTags(w http.ResponseWriter, r *http.Request) error {
	list, err := v.ollamaModels(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, map[string][]ollamaModel{"models": list})
}

// ollamaPS lists what is in memory.
func (v *ollamaRoutes) ollamaPS(w http.ResponseWriter, r *http.Request) error {
	running := []runningModel{}
	if in := v.to.Status.State().InMemory; len(in) > 0 {
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
				if m.Name == l.ID+latest {
					running = append(running, runningModel{m, until, cmp.Or(l.Bytes, m.Size), l.ContextLength})
				}
			}
		}
	}
	return writeJSON(w, map[string][]runningModel{"models": running})
}

// idleUntil is when a model that nobody uses from now on leaves the memory, far
// away if it never does.
func (v *ollamaRoutes) idleUntil(ctx context.Context) (time.Time, error) {
	st, err := v.settings.Settings(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := time.Now().UTC()
	if n := st.Settings.IdleUnloadMinutes; n > 0 {
		return now.Add(time.Duration(n) * time.Minute), nil
	}
	return now.AddDate(100, 0, 0), nil
}
