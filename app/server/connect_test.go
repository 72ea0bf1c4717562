package server

import (
	"slices"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestConnectRoutesListAndWrite: the route lists what clients need, and writes a client's file on
// request.
func TestConnectRoutesListAndWrite(t *testing.T) {
	fake := roomtest.NewBackend()
	c, ctx := dialFake(t, fake), t.Context()
	all, err := control.Ask(ctx, c, control.GetConnect)
	if err != nil {
		t.Fatal(err)
	}
	if all.BaseURL != "http://127.0.0.1:8263/v1" {
		t.Errorf(`all.BaseURL = %q, want "http://127.0.0.1:8263/v1"`, all.BaseURL)
	}
	if len(all.Connections) != 1 {
		t.Fatalf("len(all.Connections) = %v, want 1", len(all.Connections))
	}
	if all.Connections[0].ID != "aider" {
		t.Errorf(`all.Connections[0].ID = %q, want "aider"`, all.Connections[0].ID)
	}
	if len(fake.Written) > 0 {
		t.Errorf("len(fake.Written) = %v, want at most 0", len(fake.Written))
	}
	if one, err := control.Call(ctx, c, control.WriteConnection, "aider"); err != nil ||
		one.Written != control.WrittenCurrent || !slices.Equal(fake.Written, []string{"aider"}) {
		t.Errorf("%+v, %v, written %v", one, err, fake.Written)
	}
	if _, err := control.Call(ctx, c, control.WriteConnection,
		"emacs"); codeOf(err) != control.CodeInvalid {
		t.Errorf("a client that is not there: %v", err)
	}
}
