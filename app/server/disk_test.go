package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// The routes list what is on disk, and what a deletion would delete.
func TestDiskRoutesListAndForget(t *testing.T) {
	fake := roomtest.Lettered(control.KindAnswer)
	s := New(services(fake), Options{})
	for path, want := range map[string]string{
		"/app/checkpoints/abc/deletion":          `{"checkpoints":["abc"],"bytes":5}`,
		"/app/checkpoints/abc/deletion?all=true": `{"checkpoints":["abc"],"bytes":9}`,

		"/app/storage":                  `"by_day":[{"name":"2026-11-22","runs":3,"checkpoints":0,"bytes":5}]`,
		"/app/removal?model=acme/coder": `{"id":"acme/coder","deletes":true,"bytes":1000}`,
		"/app/forget?model=acme%2Fcoder&client=a+b&day=2026-11-22": `"bytes":700`,
	} {
		if w := roomtest.Get(s.Socket(), path); w.Code != http.StatusOK ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s in it", path, w.Code, w.Body, want)
		}
	}
	if fake.Forgot != (control.ForgetRequest{Model: "acme/coder", Client: "a b",
		Day: "2026-11-22"}) {
		t.Errorf("asked about %+v", fake.Forgot)
	}
	roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/removal?model=none"), http.StatusNotFound,
		control.CodeModelNotFound)
	if w := roomtest.Post(s.Socket(), "/app/reveal",
		`{"model":"acme/coder"}`); w.Code != http.StatusOK ||
		!slices.Equal(fake.Revealed, []string{"acme/coder"}) {
		t.Errorf("reveal: %d %s, shown: %q", w.Code, w.Body, fake.Revealed)
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/reveal",
		`{"model":"none"}`), http.StatusNotFound,
		control.CodeModelNotFound)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/reveal",
		`{}`), http.StatusBadRequest, control.CodeInvalid)
	roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/checkpoints/none/deletion"),
		http.StatusNotFound,
		control.CodeNoCheckpoint)
	for _, query := range []string{"", "?model=", "?day=yesterday", "?model=x&day=2026-13-01"} {
		roomtest.WantError(t, roomtest.Get(s.Socket(), "/app/forget"+query),
			http.StatusBadRequest, control.CodeInvalid)
	}
}
