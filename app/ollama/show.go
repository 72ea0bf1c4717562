package ollama

import (
	"context"
	"net/http"
	"time"

	"tandem/app/control"
	"tandem/app/wire"
)

// A Show is the answer of /api/show.
type Show struct {
	_            struct{}       `schema:"OllamaShow"`
	Modelfile    string         `json:"modelfile"`
	Parameters   string         `json:"parameters"`
	Template     string         `json:"template"`
	Details      Details        `json:"details"`
	ModelInfo    map[string]any `json:"model_info"`
	Capabilities []string       `json:"capabilities" enum:"completion,tools,thinking,insert,embedding" doc:"Of a model in memory; of others only the first is known."`
	ModifiedAt   time.Time      `json:"modified_at"`
}

func (v *Routes) ollamaShow(w http.ResponseWriter, r *http.Request) error {
	f, err := v.ReadObject(w, r)
	if err != nil {
		return err
	}
	name := f.As(showRequestShape).String("model")
	if name == "" {
		name = f.String("name") // older programs use this name
	}
	if name == "" {
		f.Fail("model", "is missing: name a model of /api/tags.")
	}
	if f.Err() != nil {
		return f.Err()
	}
	list, err := v.ollamaModels(r.Context())
	if err != nil {
		return err
	}
	id, err := v.ModelID(r.Context(), name, true)
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.Name != tagged(id) {
			continue
		}
		show, err := v.show(r.Context(), id, m)
		if err != nil {
			return err
		}
		return wire.WriteJSON(w, show)
	}
	return control.Errorf(control.CodeModelNotFound,
		"The model %q is not installed. /api/tags lists the installed models.", wire.Clip(name))
}

func (v *Routes) show(ctx context.Context, id string, m Model) (Show, error) {
	family := m.Details.Family
	show := Show{
		Modelfile: "FROM " + m.Name + "\n", Template: "{{ .Prompt }}", Details: m.Details,
		ModifiedAt: m.ModifiedAt,
		ModelInfo: map[string]any{
			"general.architecture":     family,
			"general.basename":         m.Name, // editors show it in their list of models
			"general.size_label":       m.Details.ParameterSize,
			"general.type":             "model",
			"general.parameter_count":  m.parameters,
			family + ".context_length": m.Details.ContextLength,
		},
		Capabilities: []string{"completion"},
	}
	if m.kind == control.KindEmbedding {
		show.Capabilities = []string{"embedding"}
		return show, nil
	}
	if id == control.Alias {
		id = v.To.Status.State().Choice
	}
	can, err := v.To.Pool.Abilities(ctx, id)
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
		show.Template = "{{ if .Suffix }}" + fim.Prefix + "{{ .Prompt }}" + fim.Suffix +
			"{{ .Suffix }}" + fim.Middle + "{{ else }}{{ .Prompt }}{{ end }}"
	}
	return show, nil
}
