package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/models/hub"
)

// A new hub_endpoint is asked at once: for the catalogue that the first hub refused, and for a
// download that waits for the first hub.
func TestNewHubIsAskedAtOnce(t *testing.T) {
	const wanted = "/api/models/org/name"
	waits, comes := make(chan struct{}, 100), make(chan struct{}, 100)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, wanted) {
			waits <- struct{}{}
			<-r.Context().Done()
			return
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(first.Close)
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, wanted) {
			comes <- struct{}{}
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("a", 40),
			"siblings": []map[string]any{{"rfilename": "config.json", "size": 100},
				{"rfilename": "model.safetensors", "size": 2_000}}})
	}))
	t.Cleanup(second.Close)
	a, err := Open(t.Context(), Options{Home: t.TempDir(), Memory: 16 * (1 << 30),
		Hub: hub.Options{CacheDir: t.TempDir(), Endpoint: first.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Why == "" {
		t.Fatalf("the catalogue of the first hub: %q, %v, want a reason", c.Why, err)
	}
	if err := a.library.Download(t.Context(),
		control.PullRequest{ID: first.URL + "/org/name"}); err != nil {
		t.Fatal(err)
	}
	<-waits
	if _, err := a.ChangeSettings(t.Context(),
		control.SettingsChange{"hub_endpoint": json.RawMessage(`"` + second.URL +
			`"`)}); err != nil {
		t.Fatal(err)
	}
	<-comes
	if c, err := a.library.Catalogue(t.Context(), true); err != nil || c.Why != "" ||
		c.Models[0].Bytes != 2_100 {
		t.Errorf("the catalogue of the second hub: %q, %v, %+v", c.Why, err, c.Models[0])
	}
}
