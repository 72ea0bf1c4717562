package hub

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
)

// TestSizeFetchesNothing expects the size of a pull before it, without a request for a file.
func TestSizeFetchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := model()
		h := newFakeHub(t, files)
		opts := h.options("/nowhere")
		var want int64
		for _, name := range fetched {
			want += int64(len(files[name]))
		}
		for _, name := range []string{"org/name", "org/name@" + commitA} {
			if got, err := Size(t.Context(), name, opts); err != nil || got != want {
				t.Errorf("%s: %d bytes, %v; want %d", name, got, err, want)
			}
		}
		if asked := h.seen("resolve"); len(asked) > 0 {
			t.Errorf("files were asked for: %v", asked)
		}
		// A hub that lists files without sizes, or with such as cannot be.
		for name, size := range map[string]any{"none": nil, "negative": -1,
			"more than there is": 1 << 62} {
			h.set(func() {
				h.hook = func(w http.ResponseWriter, _ *http.Request) bool {
					list := []map[string]any{{"rfilename": "config.json"},
						{"rfilename": "model-a.safetensors", "size": size},
						{"rfilename": "model-b.safetensors", "size": size}}
					json.NewEncoder(w).Encode(map[string]any{"sha": commitA, "siblings": list})
					return true
				}
			})
			if n, err := Size(t.Context(), "org/name", opts); err == nil {
				t.Errorf("%s: %d bytes", name, n)
			}
		}
		h.set(func() { h.hook = nil })
		_, err := Size(t.Context(), "org/other", opts)
		wantCode(t, err, NotFound)
		_, err = Size(t.Context(), "../x", opts)
		wantCode(t, err, Invalid)
		opts.Offline = true
		_, err = Size(t.Context(), "org/name", opts)
		wantCode(t, err, Offline)
		opts.Offline, opts.Endpoint = false, "http://elsewhere.test"
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err = Size(ctx, "org/name", opts)
		wantCode(t, err, Offline)
	})
}
