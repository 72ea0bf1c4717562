package server

import (
	"slices"
	"testing"

	"tandem/app/control"
)

// TestConnectRoutesListAndWrite: the route lists what clients need, and writes a client's file on
// request.
func TestConnectRoutesListAndWrite(t *testing.T) {
	fake := newFake()
	c, ctx := dialFake(t, fake), t.Context()
	all, err := c.Connect(ctx)
	if err != nil || all.BaseURL != "http://127.0.0.1:8263/v1" || len(all.Connections) != 1 ||
		all.Connections[0].ID != "aider" || len(fake.written) > 0 {
		t.Errorf("%+v, %v, written %v", all, err, fake.written)
	}
	if one, err := c.WriteConnection(ctx, "aider"); err != nil ||
		one.Written != control.WrittenCurrent || !slices.Equal(fake.written, []string{"aider"}) {
		t.Errorf("%+v, %v, written %v", one, err, fake.written)
	}
	if _, err := c.WriteConnection(ctx, "emacs"); codeOf(err) != control.CodeInvalid {
		t.Errorf("a client that is not there: %v", err)
	}
}
