package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/models"
)

// The retrieval model is served by its name, with bounded layers, from any working folder. A file of
// it that was changed is written again when it is named, or is the last choice.
func TestRetrievalModelIsServedByItsName(t *testing.T) {
	home := t.TempDir()
	weights := filepath.Join(home, "models", models.RetrievalID, "model.safetensors")
	for _, c := range []struct{ when, model string }{
		{"at first", models.RetrievalID},
		{"with other weights in its folder", models.RetrievalID},
		{"as the last choice", ""},
	} {
		t.Run(c.when, func(t *testing.T) {
			r := start(t, Options{Home: home, Model: c.model, KVLayout: control.KVBounded},
				"127.0.0.1:0")
			status, body := r.complete(t, control.Alias, "abc")
			if status != http.StatusOK || !strings.Contains(body, `"model":"retrieval"`) {
				t.Fatalf("status %d: %s", status, body)
			}
			state := r.State()
			l := state.Resident(models.RetrievalID)
			if l == nil || l.KVLayout != control.KVBounded || l.Bounded == nil ||
				!strings.HasPrefix(l.Bounded.FTheta, filepath.Dir(weights)) {
				t.Fatalf("in memory is %+v", l)
			}
		})
		if err := os.WriteFile(weights, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
