package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"tandem/app/roomtest"
	"tandem/engine"
)

// The client gets general words, and the log has the error.
func TestUnknownErrorsAreLoggedNotTold(t *testing.T) {
	for _, stream := range []bool{false, true} {
		fake := roomtest.NewBackend()
		fake.Model.Script = func(context.Context, engine.Request) iter.Seq2[engine.Token, error] {
			return func(yield func(engine.Token, error) bool) {
				if stream && !yield(engine.Token{ID: 'a', Text: "a"}, nil) {
					return
				}
				yield(engine.Token{}, errors.New("open /home/somebody: no"))
			}
		}
		var log bytes.Buffer
		fake.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s := serve(fake)
		w := roomtest.Post(s, "/v1/completions",
			fmt.Sprintf(`{"model":"tandem","prompt":"x","stream":%t}`, stream))
		if strings.Contains(w.Body.String(), "somebody") ||
			!strings.Contains(w.Body.String(), "its log tells more") {
			t.Errorf("stream %t: %s", stream, w.Body)
		}
		if !strings.Contains(log.String(), "somebody") {
			t.Errorf("stream %t: the log has %s", stream, log.String())
		}
		if r := fake.LastRun(); r.Error != string(engine.CodeInternal) {
			t.Errorf("stream %t: the history has %q", stream, r.Error)
		}
	}
}
