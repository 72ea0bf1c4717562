package roomtest

import (
	"context"

	"tandem/app/control"
)

// connections knows one client, and writes no file for it.
type connections struct{ Written []string }

func (f *connections) Connect(context.Context) (control.Connect, error) {
	return control.Connect{BaseURL: "http://127.0.0.1:8263/v1",
		Connections: []control.Connection{{ID: "aider", Text: "model: openai/tandem\n"}}}, nil
}

func (f *connections) WriteConnection(
	_ context.Context, id string,
) (control.Connection, error) {
	if id != "aider" {
		return control.Connection{}, control.Errorf(control.CodeInvalid, "There is no client %q.",
			id)
	}
	f.Written = append(f.Written, id)
	return control.Connection{ID: id, Written: control.WrittenCurrent}, nil
}
