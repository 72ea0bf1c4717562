package pool

import (
	"errors"
	"testing"

	"tandem/app/control"
)

// A panic in a change is the error of the client that asked for it, and the next change is made.
func TestPanicInAChangeIsItsErrorAndTheNextChangeWorks(t *testing.T) {
	r := start(t, setup{Model: writeModel(t, "tiny")})
	if err := r.pool.Load(t.Context(), "tiny"); err != nil {
		t.Fatal(err)
	}
	m := r.pool.look().model()
	bundle := m.bundle
	m.bundle = nil // closing it panics
	defer bundle.Close()
	c := r.client(t)
	_, err := control.Call(t.Context(), c, control.UnloadModel, control.UnloadRequest{Model: ""})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeInternal {
		t.Errorf("the panic became %v", err)
	}
	if _, err := control.Call(t.Context(), c, control.LoadModel,
		control.LoadRequest{Model: "tiny"}); err != nil {
		t.Fatalf("the next change: %v", err)
	}
	if status, body := r.complete(t, "tiny", "abc"); status != 200 {
		t.Errorf("after it: %d %s", status, body)
	}
}
