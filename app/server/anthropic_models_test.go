package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// manyModels has five models besides the one in memory.
type manyModels struct{ *roomtest.Backend }

func (b manyModels) Models(context.Context) ([]control.Model, error) {
	list := []control.Model{{ID: b.Model.Name, ContextLength: b.Model.Context,
		AddedAt: time.Unix(1700000000, 0)}}
	for i := range 5 {
		list = append(list, control.Model{ID: fmt.Sprintf("org/m%d", i), ContextLength: 100 + i,
			AddedAt: time.Unix(1700000000, 0)})
	}
	return list, nil
}

// manyServices returns the fake's services with this library.
func manyServices(f *roomtest.Backend) Services {
	to := services(f)
	to.Library = manyModels{f}
	return to
}

func getAs(s *Server, version, path string) *httptest.ResponseRecorder {
	r := roomtest.LocalRequest(http.MethodGet, path, nil)
	r.Host = "localhost:8263"
	if version != "" {
		r.Header.Set("Anthropic-Version", version)
	}
	w := httptest.NewRecorder()
	s.Endpoint().ServeHTTP(w, r)
	return w
}

// TestAnthropicListIsPaged walks the list of models as Anthropic's programs do.
func TestAnthropicListIsPaged(t *testing.T) {
	s := New(manyServices(roomtest.NewBackend()), Options{})
	for query, want := range map[string]string{
		"":                              "tandem acme/coder org/m0 org/m1 org/m2 org/m3 org/m4",
		"?limit=3":                      "tandem acme/coder org/m0 more",
		"?limit=3&after_id=org/m0":      "org/m1 org/m2 org/m3 more",
		"?limit=3&after_id=org/m3":      "org/m4",
		"?limit=1&after_id=org/m4":      "",
		"?limit=2&before_id=org/m1":     "acme/coder org/m0 more",
		"?limit=2&before_id=acme/coder": "tandem",
		"?limit=2&before_id=tandem":     "",
		"?limit=1000":                   "tandem acme/coder org/m0 org/m1 org/m2 org/m3 org/m4",
	} {
		w := getAs(s, "2023-06-01", "/v1/models"+query)
		var page struct {
			Data []struct {
				Type, ID    string
				DisplayName string    `json:"display_name"`
				CreatedAt   time.Time `json:"created_at"`
				Most        int       `json:"max_input_tokens"`
			}
			HasMore bool    `json:"has_more"`
			FirstID *string `json:"first_id"`
			LastID  *string `json:"last_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s: %d %v %s", query, w.Code, err, w.Body)
			continue
		}
		var got []string
		for _, m := range page.Data {
			got = append(got, m.ID)
			if m.Type != "model" || m.DisplayName == "" || m.CreatedAt.Unix() != 1700000000 ||
				m.Most == 0 {
				t.Errorf("%s: %+v", query, m)
			}
		}
		if n := len(got); n > 0 && (*page.FirstID != got[0] || *page.LastID != got[n-1]) ||
			n == 0 && (page.FirstID != nil || page.LastID != nil) {
			t.Errorf("%s: %s", query, w.Body)
		}
		if page.HasMore {
			got = append(got, "more")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for query, param := range map[string]string{
		"?limit=0": "limit", "?limit=1001": "limit", "?limit=x": "limit",
		"?after_id=no/such":  "after_id",
		"?before_id=no/such": "before_id", "?before_id=tandem&after_id=tandem": "before_id",
		"?after_id=": "after_id",
	} {
		if w := getAs(s, "2023-06-01", "/v1/models"+query); w.Code != http.StatusBadRequest ||
			!strings.Contains(w.Body.String(), param) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// TestModelListFollowsVendorHeader: the header decides the form, for the list and for one model.
func TestModelListFollowsVendorHeader(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for path, says := range map[string][2]string{
		"/v1/models": {`{"object":"list","data":[{"id":"tandem","object":"model"`,
			`{"data":[{"type":"model","id":"tandem","display_name":"Tandem (acme/coder)"`},
		"/models/": {`{"object":"list"`, `{"data":[{"type":"model"`},
		"/v1/models/acme/coder": {`{"id":"acme/coder","object":"model"`,
			`{"type":"model","id":"acme/coder","display_name":"acme/coder","created_at":"2023-11-14T22:13:20Z","max_input_tokens":64,"max_tokens":64}`},
		"/models/tandem": {`{"id":"tandem","object":"model"`,
			`{"type":"model","id":"tandem","display_name":"Tandem (acme/coder)"`},
	} {
		for i, version := range []string{"", "2023-06-01"} {
			w := getAs(s, version, path)
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
