package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// exchange spends a code over TCP and returns the status and the session.
func exchange(t *testing.T, s *Server, code string) (int, string) {
	t.Helper()
	return exchangeBody(t, s, `{"code":"`+code+`"}`)
}

func exchangeBody(t *testing.T, s *Server, body string) (int, string) {
	t.Helper()
	r := roomtest.LocalRequest(http.MethodPost, "/app/session", strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8263", "127.0.0.1:50000"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	var v control.Session
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return w.Code, v.Session
}

func askState(s *Server, session string) int {
	r := roomtest.LocalRequest(http.MethodGet, "/app/state", nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8263", "127.0.0.1:50000"
	r.Header.Set("Authorization", "Bearer "+session)
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	return w.Code
}

func TestSessionLivesByUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(services(roomtest.NewBackend()), Options{})
		code := s.NewCode()
		if !code.ExpiresAt.Equal(time.Now().Add(60 * time.Second)) {
			t.Errorf("the code expires at %v, now is %v", code.ExpiresAt, time.Now())
		}
		if code.URL != "http://127.0.0.1:8263/#"+code.Code {
			t.Errorf("address %q", code.URL)
		}
		if got := askState(s, code.Code); got != 401 {
			t.Errorf("the code itself opens the state: %d", got)
		}
		if got, _ := exchangeBody(t, s, `{"code":"`+code.Code+`","keep":true}`); got != 400 {
			t.Errorf("a field that the route lacks: %d", got)
		}
		time.Sleep(59 * time.Second)
		status, session := exchange(t, s, code.Code)
		if status != 200 {
			t.Fatalf("exchange after 59 s: %d", status)
		}
		if got, _ := exchange(t, s, code.Code); got != 401 {
			t.Errorf("the code was spent twice: %d", got)
		}
		for range 3 { // each use prolongs it
			if got := askState(s, session); got != 200 {
				t.Errorf("state with a session: %d", got)
			}
			time.Sleep(sessionLife - time.Second)
		}
		time.Sleep(time.Second)
		if got := askState(s, session); got != 401 {
			t.Errorf("an unused session never ends: %d", got)
		}

		late := s.NewCode()
		time.Sleep(60 * time.Second)
		if got, _ := exchange(t, s, late.Code); got != 401 {
			t.Errorf("a code of 60 s was taken: %d", got)
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		first, _ := s.issue()
		var last string
		for range maxSessions {
			time.Sleep(time.Millisecond)
			last, _ = s.issue()
		}
		if len(s.codes) != maxSessions {
			t.Errorf("%d codes are kept", len(s.codes))
		}
		if _, ok := s.exchange(first); ok {
			t.Error("the oldest code was kept")
		}
		if _, ok := s.exchange(last); !ok {
			t.Error("the newest code was dropped")
		}
	})
}

// A code buys one session, also if many clients try at the same time.
func TestCodeBuysOneSession(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	code := s.NewCode().Code
	bought := make(chan bool)
	const tries = 50
	for range tries {
		go func() {
			_, ok := s.sessions.exchange(code)
			bought <- ok
		}()
	}
	n := 0
	for range tries {
		if <-bought {
			n++
		}
	}
	if n != 1 {
		t.Errorf("one code bought %d sessions", n)
	}
}
