package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

// TestWatch: the state comes at once and when it has changed, and the stream
// ends when the server drains.
func TestWatch(t *testing.T) {
	f := newFake()
	s := New(f.services(), Options{})
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
			time.AfterFunc(1200*time.Millisecond, func() { f.setPhase(control.PhaseFailed) })
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

// TestWatchIsForLooking: what changes something answers once, whatever the client
// accepts.
func TestWatchIsForLooking(t *testing.T) {
	s := New(newFake().services(), Options{})
	for _, path := range []string{"/app/unload", "/app/downloads"} {
		r := localRequest(http.MethodPost, path, strings.NewReader(`{"id":"a/b"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || kind != "application/json" {
			t.Errorf("%s: %d, %s", path, w.Code, kind)
		}
	}
}

// TestPace: a pace follows the gaps; one that is far too long is none of the
// model's.
func TestPace(t *testing.T) {
	var p pace
	if p.perSecond() != 0 {
		t.Error("there is a pace before there are tokens")
	}
	for range 100 {
		p.add(10 * time.Millisecond)
	}
	if got := p.perSecond(); got < 99 || got > 101 {
		t.Errorf("%.1f a second, want 100", got)
	}
	for _, asleep := range []time.Duration{time.Minute, time.Hour} {
		p.add(asleep)
		p.add(10 * time.Millisecond)
		if got := p.perSecond(); got < 99 || got > 101 {
			t.Errorf("%.1f a second after %v of sleep, want 100", got, asleep)
		}
	}
	// A model that is slow is told to be slow, also one that becomes so.
	for range 400 {
		p.add(3 * time.Second)
	}
	if got := p.perSecond(); got < 0.3 || got > 0.35 {
		t.Errorf("%.2f a second, want a third", got)
	}
	// The first gap may be the one that is far too long.
	var asleep pace
	asleep.add(time.Hour)
	for range 400 {
		asleep.add(10 * time.Millisecond)
	}
	if got := asleep.perSecond(); got < 95 || got > 101 {
		t.Errorf("%.1f a second after a first gap of an hour, want 100", got)
	}
}
