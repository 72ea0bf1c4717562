package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestModelListFollowsVendorHeader: the header decides the form, for the list and for one model.
func TestModelListFollowsVendorHeader(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for path, says := range map[string][2]string{
		"/v1/models": {`{"object":"list","data":[{"id":"tandem","object":"model"`,
			`{"data":[{"type":"model","id":"tandem","display_name":"Tandem (acme/coder)"`},
		"/models/": {`{"object":"list"`, `{"data":[{"type":"model"`},
		"/v1/models/acme/coder": {`{"id":"acme/coder","object":"model"`,
			`{"type":"model","id":"acme/coder","display_name":"acme/coder","created_at":"2023-11-14T22:13:20Z","lifecycle":"active","max_input_tokens":64,"max_tokens":64}`},
		"/models/tandem": {`{"id":"tandem","object":"model"`,
			`{"type":"model","id":"tandem","display_name":"Tandem (acme/coder)"`},
	} {
		for i, version := range []string{"", "2023-06-01"} {
			w := roomtest.GetAs(s.Endpoint(), version, path)
			if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), says[i]) {
				t.Errorf("%s of %q: %d %s", path, version, w.Code, w.Body)
			}
			id := w.Header().Get("X-Request-Id")
			if got := w.Header().Get("Request-Id"); (got == id) != (version != "") || id == "" {
				t.Errorf("%s of %q: request-id %q, x-request-id %q", path, version, got, id)
			}
		}
	}
}

// Editors ask for one model by the name that another route listed.
func TestListedNameFindsItsModelInEachVendorsForm(t *testing.T) {
	for _, version := range []string{"", "2023-06-01"} {
		for name, want := range map[string]string{"tandem:latest": "tandem",
			"acme/coder:latest": "acme/coder", "acme/coder": "acme/coder"} {
			r := roomtest.LocalRequest(http.MethodGet, "/v1/models/"+name, nil)
			r.Host = "localhost"
			r.Header.Set("Anthropic-Version", version)
			w := httptest.NewRecorder()
			New(services(roomtest.NewBackend()), Options{}).Endpoint().ServeHTTP(w, r)
			var m struct{ ID string }
			if json.Unmarshal(w.Body.Bytes(), &m) != nil || m.ID != want {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
		}
	}
}
