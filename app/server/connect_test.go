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
	all, err := c.Connect(ctx)
	if err != nil || all.BaseURL != "http://127.0.0.1:8263/v1" || len(all.Connections) != 1 ||
		all.Connections[0].ID != "aider" || len(fake.Written) > 0 {
		t.Errorf("%+v, %v, written %v", all, err, fake.Written)
	}
	if one, err := c.WriteConnection(ctx, "aider"); err != nil ||
		one.Written != control.WrittenCurrent || !slices.Equal(fake.Written, []string{"aider"}) {
		t.Errorf("%+v, %v, written %v", one, err, fake.Written)
	}
	if _, err := c.WriteConnection(ctx, "emacs"); codeOf(err) != control.CodeInvalid {
		t.Errorf("a client that is not there: %v", err)
	}
}
