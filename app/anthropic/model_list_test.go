package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// manyModels returns a backend with five models besides the one in memory.
func manyModels() *roomtest.Backend {
	f := roomtest.NewBackend()
	f.Library = []control.Model{{ID: f.Model.Name, ContextLength: f.Model.Context,
		AddedAt: roomtest.Ended}}
	for i := range 5 {
		f.Library = append(f.Library, control.Model{ID: fmt.Sprintf("org/m%d", i),
			ContextLength: 100 + i, AddedAt: roomtest.Ended})
	}
	return f
}

// TestAnthropicListIsPaged walks the list of models as Anthropic's programs do.
func TestAnthropicListIsPaged(t *testing.T) {
	s := serve(manyModels())
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
		w := roomtest.GetAs(s, "2023-06-01", "/v1/models"+query)
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
		if w := roomtest.GetAs(s, "2023-06-01", "/v1/models"+query); w.Code != http.StatusBadRequest ||
			!strings.Contains(w.Body.String(), param) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
