package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestBenchStreamsProgressThenResult: progress comes event by event, and the result comes last. An
// error is the last event. It is the whole answer if no event came before it.
func TestBenchStreamsProgressThenResult(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	fake.OnBench = func(
		_ context.Context, progress func(control.BenchProgress),
	) (control.Bench, error) {
		progress(control.BenchProgress{Part: "decode", Done: 1, Total: 2})
		return control.Bench{ID: 7}, nil
	}
	w := roomtest.Post(s.Socket(), "/app/benches", `{}`)
	if body := w.Body.String(); w.Code != http.StatusOK ||
		!strings.HasPrefix(body, `data: {"part":"decode","done":1,"total":2}`+"\n\n") ||
		!strings.Contains(body, `"bench":{"id":7,`) {
		t.Errorf("%d %s", w.Code, body)
	}
	fake.OnBench = func(context.Context, func(control.BenchProgress)) (control.Bench, error) {
		return control.Bench{}, control.Errorf(control.CodeModelBusy, "A bench is running.")
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/benches",
		`{}`), http.StatusConflict, control.CodeModelBusy)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/benches",
		`[]`), http.StatusBadRequest, control.CodeInvalid)
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/benches",
		`{"stay":1}`), http.StatusBadRequest,
		control.CodeInvalid)
}

// TestBenchEndsWithItsClient: a bench stops when its client leaves.
func TestBenchEndsWithItsClient(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	fake.OnBench = func(ctx context.Context, _ func(control.BenchProgress)) (control.Bench, error) {
		leave()
		<-ctx.Done()
		ended <- ctx.Err()
		return control.Bench{}, ctx.Err()
	}
	s.Socket().ServeHTTP(httptest.NewRecorder(),
		roomtest.Request("/app/benches", `{}`).WithContext(ctx))
	if err := <-ended; err == nil {
		t.Error("the bench went on after its client had left")
	}
}

func TestBenchesAreListedCancelledAndDeleted(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	if w := roomtest.Get(s.Socket(), "/app/benches"); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), `"running":false`) ||
		!strings.Contains(w.Body.String(), `"model":"acme/coder"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/benches/cancel",
		`{}`), http.StatusNotFound,
		control.CodeNoBench)
	for id, status := range map[string]int{"1": http.StatusOK, "2": http.StatusNotFound,
		"x": http.StatusNotFound} {
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, httptest.NewRequest(http.MethodDelete, "/app/benches/"+id, nil))
		if w.Code != status {
			t.Errorf("delete %s: %d %s", id, w.Code, w.Body)
		}
	}
}

// TestBenchPanicIsAnError: a panic in a bench becomes an error, and the server keeps serving.
func TestBenchPanicIsAnError(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnBench = func(
		context.Context, func(control.BenchProgress),
	) (control.Bench, error) {
		panic("a defect")
	}
	var log strings.Builder
	s := New(services(fake), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	roomtest.WantError(t, roomtest.Post(s.Socket(), "/app/benches",
		`{}`), http.StatusInternalServerError,
		control.CodeInternal)
	if !strings.Contains(log.String(), "a defect") {
		t.Errorf("the log has %s", &log)
	}
}

// TestBenchThatStaysOutlivesItsClient: a bench that is asked to stay runs on when its client
// leaves. It ends when the server drains.
func TestBenchThatStaysOutlivesItsClient(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	ctx, leave := context.WithCancel(t.Context())
	stayed, ended := make(chan error, 1), make(chan struct{})
	fake.OnBench = func(ctx context.Context, _ func(control.BenchProgress)) (control.Bench, error) {
		leave()
		stayed <- ctx.Err()
		<-ctx.Done()
		return control.Bench{}, context.Cause(ctx)
	}
	go func() {
		defer close(ended)
		s.Socket().ServeHTTP(httptest.NewRecorder(),
			roomtest.Request("/app/benches", `{"stay":true}`).WithContext(ctx))
	}()
	if err := <-stayed; err != nil {
		t.Errorf("the bench ended: %v", err)
	}
	select {
	case <-ended:
		t.Error("the bench ended with its client")
	default:
	}
	s.Drain()
	<-ended
}
