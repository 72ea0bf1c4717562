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
	name := neededModel(f.As(showRequestShape), "model", "name")
	if f.Err() != nil {
		return f.Err()
	}
	id, m, err := v.find(r.Context(), name)
	if err != nil {
		return err
	}
	if m == nil {
		return control.Errorf(control.CodeModelNotFound,
			"The model %q is not installed. /api/tags lists the installed models.", wire.Clip(name))
	}
	show, err := v.show(r.Context(), id, *m)
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, show)
}

// find returns the model of a name in either case of letters, and its id or the alias. The model is nil
// if it is not installed.
func (v *Routes) find(ctx context.Context, name string) (id string, _ *Model, err error) {
	list, err := v.ollamaModels(ctx)
	if err != nil {
		return "", nil, err
	}
	if id, err = v.ModelID(ctx, name, true); err != nil {
		return "", nil, err
	}
	for i := range list {
		if list[i].Name == tagged(id) {
			return id, &list[i], nil
		}
	}
	return id, nil, nil
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
