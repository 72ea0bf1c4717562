package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestPullEndsOnDrainOrStuckClient: a pull ends when the server drains, and when its client does
// not read.
func TestPullEndsOnDrainOrStuckClient(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnPull = func(ctx context.Context, progress func(control.Progress)) (control.Model, error) {
		<-ctx.Done()
		return control.Model{}, ctx.Err()
	}
	pull := func(s *Server, w http.ResponseWriter) {
		r := roomtest.LocalRequest(http.MethodPost, "/app/pull", strings.NewReader(`{"id":"a/b"}`))
		r.Header.Set("Content-Type", "application/json")
		s.Socket().ServeHTTP(w, r)
	}
	s := New(services(fake), Options{})
	s.Drain()
	w := httptest.NewRecorder()
	pull(s, w)
	if !strings.Contains(w.Body.String(), "stopping") {
		t.Errorf("%d %s", w.Code, w.Body)
	}

	fake.OnPull = func(ctx context.Context, progress func(control.Progress)) (control.Model, error) {
		progress(control.Progress{Done: 1})
		<-ctx.Done()
		return control.Model{}, ctx.Err()
	}
	pull(New(services(fake), Options{}), stuckWriter{httptest.NewRecorder()})
}

// A stuckWriter is a writer whose client does not read.
type stuckWriter struct{ *httptest.ResponseRecorder }

func (stuckWriter) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// A timedWriter records whether each write had a deadline, and which deadline is left at the end.
type timedWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
	untimed  bool
}

func (w *timedWriter) SetWriteDeadline(d time.Time) error { w.deadline = d; return nil }

func (w *timedWriter) Write(b []byte) (int, error) {
	w.untimed = w.untimed || w.deadline.IsZero()
	return w.ResponseRecorder.Write(b)
}

// Reading and writing have deadlines. The next request on the connection does not inherit them.
func TestDeadlinesAreNotInherited(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		r := roomtest.Request("/v1/completions",
			`{"model":"tandem","prompt":"x","stream":`+stream+`}`)
		w := roomtest.NewWriter()
		New(services(roomtest.NewBackend()), Options{}).Endpoint().ServeHTTP(w, r)
		if w.ReadDeadlines != 3 || w.WriteDeadlines < 2 || !w.ReadBy.IsZero() || !w.Deadline.IsZero() {
			t.Errorf("stream %s: deadlines set %d and %d times, left at %v and %v",
				stream, w.ReadDeadlines, w.WriteDeadlines, w.ReadBy, w.Deadline)
		}
	}
}

// No answer waits for its client forever, and no answer leaves its deadline to the next.
func TestWritesHaveDeadlines(t *testing.T) {
	for _, path := range []string{"/", "/page.js", "/health", "/metrics", "/v1/models", "/nowhere",
		"/app/state"} {
		r := roomtest.LocalRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
		New(services(roomtest.NewBackend()), Options{}).Endpoint().ServeHTTP(w, r)
		if w.Body.Len() == 0 || w.untimed || !w.deadline.IsZero() {
			t.Errorf("%s: %d bytes, untimed %t, deadline left %v",
				path, w.Body.Len(), w.untimed, w.deadline)
		}
	}
}
