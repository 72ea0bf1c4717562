package server

import (
	"io"
	"net/http"

	"tandem/app/control"
	"tandem/engine"
)

// maxPerClient bounds what one client may have in flight and waiting, in requests, of
// which each of several continuations that are generated at once counts as one. It is
// half of what an engine's queue takes, so that nobody fills that alone.
const maxPerClient = engine.MaxQueue / 2

// clientOf names a request's client, for taking turns and for its limit: by its key, or
// else by the name that its runs go by. It is nothing to show. So programs of this machine
// that have no key and call themselves alike are one client, and a program with ever other
// names is many, whom only the queue bounds: where that matters, keys can be required.
func clientOf(r *http.Request) string {
	if key := caller(r.Context()); key != "" {
		return "key " + key
	}
	return "name " + clientName(r)
}

// claim has a run count for so many requests of its client, instead of for what it
// counted before, and refuses it where they would be too many.
func (s *Server) claim(u *run, requests int) error {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	n := requests
	for _, other := range s.runs.runs {
		if other != u && other.client == u.client {
			n += other.claimed
		}
	}
	if n > maxPerClient {
		return control.Errorf(codeTooMany, "This client would have %d requests in flight and waiting, where %d are allowed and each of several continuations counts as one; send it again when some of them have ended. Programs that call themselves alike and have no key count as one; with a key of its own, by `tandem keys add NAME`, a program counts alone.", n, maxPerClient)
	}
	u.claimed = requests
	return nil
}

// discard reads the body of a request that is refused unread, so that its client hears
// why: one that still sends hears nothing.
func discard(r *http.Request) {
	if r.Header.Get("Expect") == "" { // otherwise it was not sent yet
		_, _ = io.CopyN(io.Discard, r.Body, maxBody)
	}
}
