package server

import (
	"context"
	"net/http"
	"time"

	"tandem/app/control"
)

// An ollamaShow is the answer of /api/show.
type ollamaShow struct {
	Modelfile    string         `json:"modelfile"`
	Parameters   string         `json:"parameters"`
	Template     string         `json:"template"`
	Details      ollamaDetails  `json:"details"`
	ModelInfo    map[string]any `json:"model_info"`
	Capabilities []string       `json:"capabilities"`
	ModifiedAt   time.Time      `json:"modified_at"`
}

func (v *ollamaRoutes) ollamaShow(w http.ResponseWriter, r *http.Request) error {
	f, err := v.readObject(w, r)
	if err != nil {
		return err
	}
	name := f.string("model")
	if name == "" {
		name = f.string("name") // as older programs call it
	}
	if f.err == nil && name == "" {
		f.fail("model", "is missing: name a model of /api/tags.")
	}
	if f.err != nil {
		return f.err
	}
	list, err := v.ollamaModels(r.Context())
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.Name != ollamaID(name)+latest {
			continue
		}
		show, err := v.show(r.Context(), m)
		if err != nil {
			return err
		}
		return writeJSON(w, show)
	}
	return control.Errorf(control.CodeModelNotFound, "The model %q is not registered; /api/tags lists those that are.", clip(name))
}

func (v *ollamaRoutes) show(ctx context.Context, m ollamaModel) (ollamaShow, error) {
	family := m.Details.Family
	show := ollamaShow{
		Modelfile: "FROM " + m.Name + "\n", Template: "{{ .Prompt }}", Details: m.Details, ModifiedAt: m.ModifiedAt,
		ModelInfo: map[string]any{
			"general.architecture":     family,
			"general.parameter_count":  m.parameters,
			family + ".context_length": m.Details.ContextLength,
		},
		Capabilities: []string{"completion"},
	}
	if m.kind == control.KindEmbedding {
		show.Capabilities = []string{"embedding"}
		return show, nil
	}
	id := ollamaID(m.Name)
	if id == control.Alias {
		id = v.to.Status.State().Choice
	}
	can, err := v.to.Pool.Abilities(ctx, id)
	if err != nil {
		return show, err
	}
	if can.Tools {
		show.Capabilities = append(show.Capabilities, "tools")
	}
	if can.Thinking {
		show.Capabilities = append(show.Capabilities, "thinking")
	}
	if fim := can.FIM; fim != nil {
		show.Capabilities = append(show.Capabilities, "insert")
		// Editors look for .Suffix.
		show.Template = "{{ if .Suffix }}" + fim.Prefix + "{{ .Prompt }}" + fim.Suffix + "{{ .Suffix }}" + fim.Middle + "{{ else }}{{ .Prompt }}{{ end }}"
	}
	return show, nil
}
