package openai_test

import (
	"flag"
	"net/http"
	"testing"

	"tandem/app/roomtest"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// The answers are those in testdata/*.http.
func TestAnswersEqualTheTranscripts(t *testing.T) {
	roomtest.PlayTranscripts(t, *update, func(f *roomtest.Backend, _ bool) http.Handler {
		return serve(f)
	})
}
