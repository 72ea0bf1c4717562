package server

import (
	"net/http"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestCheckpointPagesPassQueryAndTotals: the query of a page reaches the backend, and the totals of
// all pages reach the client.
func TestCheckpointPagesPassQueryAndTotals(t *testing.T) {
	fake := roomtest.Lettered(control.KindAnswer)
	s := New(services(fake), Options{})
	for path, want := range map[string]control.CheckpointQuery{
		"/app/checkpoints": {},
		"/app/checkpoints?model=acme%2Fcoder&limit=1000&before=x%2C1": {Model: "acme/coder",
			Limit: 1000, Before: "x,1"},
	} {
		w := roomtest.Get(s.Socket(), path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(),
			`{"checkpoints":[{"id":"abc",`) ||
			!strings.HasSuffix(w.Body.String(), `],"next":"2","count":7,"bytes":70,"saved_ms":0}`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if fake.Listed != want {
			t.Errorf("%s asks for %+v", path, fake.Listed)
		}
	}
	for _, query := range []string{"limit=1001", "limit=-1", "limit=x"} {
		roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/checkpoints?"+query), http.StatusBadRequest,
			control.CodeInvalid)
	}
}
