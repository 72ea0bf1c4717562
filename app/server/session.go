package server

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/wire"
)

const (
	codeLife    = 60 * time.Second
	sessionLife = 12 * time.Hour // without use
	maxSessions = 64             // of codes and of sessions; the oldest is dropped
)

// sessions holds the unspent codes and the sessions that codes bought, by their hashes. Both end with
// the process.
type sessions struct {
	mu    sync.Mutex
	codes map[[32]byte]time.Time // expiry
	live  map[[32]byte]time.Time // expiry
}

// issue returns a new code and its expiry.
func (s *sessions) issue() (code string, expires time.Time) {
	code, expires = rand.Text(), time.Now().Add(codeLife)
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(&s.codes, code, expires)
	return code, expires
}

// exchange spends a code and returns the session that it buys.
func (s *sessions) exchange(code string) (session string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(code))
	expires, ok := s.codes[key]
	delete(s.codes, key)
	if !ok || !time.Now().Before(expires) {
		return "", false
	}
	session = rand.Text() + rand.Text()
	keep(&s.live, session, time.Now().Add(sessionLife))
	return session, true
}

// valid reports whether the session is alive, and extends it.
func (s *sessions) valid(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(session))
	expires, ok := s.live[key]
	if !ok {
		return false
	}
	if !time.Now().Before(expires) {
		delete(s.live, key)
		return false
	}
	s.live[key] = time.Now().Add(sessionLife)
	return true
}

// keep adds a secret. If there are too many, it drops the one that expires first.
func keep(m *map[[32]byte]time.Time, secret string, expires time.Time) {
	if *m == nil {
		*m = map[[32]byte]time.Time{}
	}
	for len(*m) >= maxSessions {
		var oldest [32]byte
		first := time.Time{}
		for k, t := range *m {
			if first.IsZero() || t.Before(first) {
				oldest, first = k, t
			}
		}
		delete(*m, oldest)
	}
	(*m)[sha256.Sum256([]byte(secret))] = expires
}

// NewCode returns a code that buys one session, and the address to open with it.
func (s *Server) NewCode() control.SessionCode {
	code, expires := s.sessions.issue()
	c := control.SessionCode{Code: code, ExpiresAt: expires.UTC()}
	if a := s.services.Status.State().Address; a != "" {
		c.URL = strings.TrimSuffix(a, "/") + "/#" + code
	}
	return c
}

// issueCode is POST /app/session on the socket.
func (s *Server) issueCode(w http.ResponseWriter, r *http.Request) error {
	if _, err := read(s.api, control.IssueCode, w, r); err != nil {
		return err
	}
	return wire.WriteJSON(w, s.NewCode())
}

// exchangeCode is POST /app/session over TCP.
func (s *Server) exchangeCode(w http.ResponseWriter, r *http.Request) error {
	q, err := read(s.api, control.ExchangeCode, w, r)
	if err != nil {
		return err
	}
	session, ok := s.sessions.exchange(q.Code)
	if !ok {
		return control.Errorf(control.CodeUnauthorized,
			"This link was used before or is older than a minute; open a new one.")
	}
	return wire.WriteJSON(w, control.Session{Session: session})
}
