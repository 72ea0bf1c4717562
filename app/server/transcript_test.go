package server

import (
	"flag"
	"net/http"
	"testing"

	"tandem/app/roomtest"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// The answers of the control routes are those in testdata/control.http.
func TestAnswersEqualTheTranscripts(t *testing.T) {
	roomtest.PlayTranscripts(t, *update, func(f *roomtest.Backend, socket bool) http.Handler {
		s := New(services(f), Options{})
		if socket {
			return s.Socket()
		}
		return s.Endpoint()
	})
}
