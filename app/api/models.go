package api

import (
	"context"
	"strings"

	"tandem/app/control"
	"tandem/app/wire"
)

// A ModelEntry is one model of /v1/models. Clients read its context size from context_length or
// from max_model_len.
type ModelEntry struct {
	_             struct{} `schema:"Model"`
	ID            string   `json:"id" doc:"org/name, a folder's name, or tandem for the current model."`
	Object        string   `json:"object" enum:"model"`
	Created       int64    `json:"created" doc:"Unix seconds."`
	OwnedBy       string   `json:"owned_by"`
	ContextLength int      `json:"context_length" doc:"Tokens."`
	MaxModelLen   int      `json:"max_model_len" doc:"vLLM's name for it."`
	Root          string   `json:"root" doc:"The model of an alias."`

	// ShortContext is left out where nothing longer was asked for.
	ShortContext string `json:"short_context,omitempty" doc:"Why a context that --context asks for cannot be had."`
}

// latest is the tag that Ollama's programs put after a name without one.
const latest = ":latest"

// ModelID returns the id that a client's name for a model means, or the alias. NAME:latest is NAME
// where no model has the whole name: /api/tags lists it so, and programs take it to other routes.
// With fold, letters may have either case where no model is written as the name is, and the name may
// be another program's, see [Models.IDOf]. A name that no model has is returned as it is.
func (a *API) ModelID(ctx context.Context, name string, fold bool) (string, error) {
	if name == control.Alias || !fold && !strings.HasSuffix(name, latest) {
		return name, nil
	}
	list, err := a.To.Models.Models(ctx)
	if err != nil {
		return "", err
	}
	same := []func(id, name string) bool{func(id, name string) bool { return id == name }}
	bare := strings.TrimSuffix(name, latest)
	if fold {
		same = append(same, strings.EqualFold)
		if at := len(name) - len(latest); at > 0 && strings.EqualFold(name[at:], latest) {
			bare = name[:at]
		}
	}
	for _, same := range same {
		for _, wanted := range []string{name, bare} {
			if same(control.Alias, wanted) {
				return control.Alias, nil
			}
			for _, m := range list {
				if same(m.ID, wanted) {
					return m.ID, nil
				}
			}
		}
	}
	if fold {
		return a.To.Models.IDOf(ctx, name)
	}
	return name, nil
}

// Entries lists the alias first, then the registry.
func (a *API) Entries(ctx context.Context) ([]ModelEntry, error) {
	list, err := a.To.Models.Models(ctx)
	if err != nil {
		return nil, err
	}
	state := a.To.Status.State()
	out := []ModelEntry{}
	for _, m := range list {
		owner, _, ok := strings.Cut(m.ID, "/")
		if !ok {
			owner = "tandem"
		}
		length := m.ContextLength
		if state.ContextLimit > 0 {
			length = min(length, state.ContextLimit)
		}
		if l := state.Resident(m.ID); l != nil {
			length = l.ContextLength // may be cut to the machine's memory
		}
		e := ModelEntry{ID: m.ID, Object: "model", Created: m.AddedAt.Unix(), OwnedBy: owner,
			ContextLength: length, MaxModelLen: length, Root: m.ID,
			ShortContext: control.ShortContext(state.ContextLimit, m.ContextLength)}
		out = append(out, e)
		if m.ID == state.Choice {
			e.ID, e.OwnedBy = control.Alias, "tandem"
			out = append([]ModelEntry{e}, out...)
		}
	}
	return out, nil
}

// Entry returns the model with that id, or the alias.
func (a *API) Entry(ctx context.Context, id string) (ModelEntry, error) {
	list, err := a.Entries(ctx)
	if err != nil {
		return ModelEntry{}, err
	}
	if id, err = a.ModelID(ctx, id, false); err != nil {
		return ModelEntry{}, err
	}
	for _, e := range list {
		if e.ID == id {
			return e, nil
		}
	}
	return ModelEntry{}, control.Errorf(control.CodeModelNotFound,
		"The model %q is not installed. /v1/models lists the installed models.", wire.Clip(id))
}
