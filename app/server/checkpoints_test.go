package server

import (
	"net/http"
	"net/http/httptest"
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
		roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/checkpoints?"+query),
			http.StatusBadRequest,
			control.CodeInvalid)
	}
}

// The routes refuse wrong bodies, and answer right ones.
func TestCheckpointRoutesRefuseBadInput(t *testing.T) {
	fake := roomtest.Lettered("answer")
	s := New(services(fake), Options{})
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/app/checkpoints/abc", `{"name":"one","pinned":true}`, 200},
		{"/app/checkpoints/abc", `{}`, 200},
		{"/app/checkpoints/abc", `{"name":7}`, 400},
		{"/app/checkpoints/abc", `{"pinned":"yes"}`, 400},
		{"/app/checkpoints/abc", `{"name":"` + strings.Repeat("x", maxCheckpointName+1) + `"}`, 400},
		{"/app/checkpoints/abc", `{"name":".."}`, 400},
		{"/app/checkpoints/abc", `{"name":"feature/x"}`, 400},
		{"/app/checkpoints/abc", `{"name":""}`, 200},
		{"/app/checkpoints/other", `{"pinned":true}`, 404},
		{"/app/checkpoints/abc/verify", `{}`, 200},
		{"/app/forget", `{}`, 400},
		{"/app/forget", `{"day":"yesterday"}`, 400},
		{"/app/forget", `{"day":"2026-11-22"}`, 200},
		{"/app/forget", `{"client":"zed"}`, 200},
	} {
		if w := roomtest.Post(s.Socket(), c.path, c.body); w.Code != c.status {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if c := fake.OnDisk; c.Name != "" || !c.Pinned {
		t.Errorf("changed to %+v", c)
	}
	// Over TCP the routes need a session.
	r, w := roomtest.Request("/app/forget", `{"model":"m"}`), httptest.NewRecorder()
	r.RemoteAddr = "127.0.0.1:1"
	s.Endpoint().ServeHTTP(w, r)
	roomtest.WantError(t, w, http.StatusUnauthorized, control.CodeUnauthorized)
}
