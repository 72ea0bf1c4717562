package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// The state comes at once and after each change. The stream ends when the server drains.
func TestWatchStreamsChanges(t *testing.T) {
	f := roomtest.NewBackend()
	s := New(services(f), Options{})
	srv := httptest.NewServer(s.Socket())
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/app/state", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the answer is %s", kind)
	}
	var follow control.Follower
	events := 0
	for data, err := range control.Events(resp.Body) {
		if err != nil {
			t.Fatal(err)
		}
		st, err := follow.Next(data)
		if err != nil {
			t.Fatal(err)
		}
		events++
		switch events {
		case 1:
			if st.Phase != control.PhaseReady || st.Rev != 1 {
				t.Errorf("first %s", data)
			}
			time.AfterFunc(1200*time.Millisecond, func() { f.SetPhase(control.PhaseFailed) })
		case 2:
			if st.Phase != control.PhaseFailed || string(data) != `{"rev":2,"phase":"failed"}` {
				t.Errorf("then %s", data)
			}
			s.Drain()
		default:
			t.Errorf("also %s", data)
		}
	}
	if events != 2 {
		t.Errorf("%d events", events)
	}
}

// A route that changes something answers once, whatever types the client accepts.
func TestChangesAnswerOnce(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for path, body := range map[string]string{"/app/unload": "{}", "/app/downloads": `{"id":"a/b"}`} {
		r := roomtest.LocalRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK ||
			kind != "application/json" {
			t.Errorf("%s: %d, %s", path, w.Code, kind)
		}
	}
}
