package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/ollama"
	"tandem/app/roomtest"
)

// askedPool notes the names for which models are acquired.
type askedPool struct {
	api.Pool
	names *[]string
}

func (p askedPool) Acquire(ctx context.Context, name string) (model.Model, error) {
	*p.names = append(*p.names, name)
	return p.Pool.Acquire(ctx, name)
}

// A cased library has ids with tags and in mixed case.
type cased struct{ *roomtest.Backend }

func (b cased) Models(context.Context) ([]control.Model, error) {
	return []control.Model{{ID: b.Model.Name, ContextLength: 64}, {ID: "Acme/Big"},
		{ID: "whole:latest"}, {ID: "whole"}, {ID: "TWIN"}, {ID: "twin"}}, nil
}

// acquiredFor posts a body with a model's name, and returns the name that the pool was asked for.
func acquiredFor(t *testing.T, path, name, rest string) (acquired string,
	w *httptest.ResponseRecorder) {
	t.Helper()
	fake := roomtest.NewBackend()
	to := services(fake)
	var names []string
	to.Library, to.Pool = cased{fake}, askedPool{fake, &names}
	w = roomtest.Post(New(to, Options{}).Endpoint(), path, `{"model":"`+name+`",`+rest+`}`)
	if len(names) != 1 {
		t.Fatalf("%s as %s: %q was asked for: %d %s", path, name, names, w.Code, w.Body)
	}
	return names[0], w
}

// modelRoutes has a body without a model for each route that takes one.
var modelRoutes = map[string]string{
	"/v1/chat/completions":      `"messages":[{"role":"user","content":"x"}]`,
	"/v1/completions":           `"prompt":"x"`,
	"/v1/fim/completions":       `"prompt":"x","suffix":"y"`,
	"/v1/embeddings":            `"input":"x"`,
	"/v1/rerank":                `"query":"x","documents":["y"]`,
	"/v1/responses":             `"input":"x"`,
	"/v1/messages":              `"max_tokens":4,"messages":[{"role":"user","content":"x"}]`,
	"/v1/messages/count_tokens": `"messages":[{"role":"user","content":"x"}]`,
	"/api/v0/chat/completions":  `"messages":[{"role":"user","content":"x"}]`,
	"/api/v0/completions":       `"prompt":"x"`,
	"/api/v0/embeddings":        `"input":"x"`,
	"/completion":               `"prompt":"x"`,
	"/infill":                   `"input_prefix":"x"`,
	"/tokenize":                 `"content":"x"`,
	"/detokenize":               `"tokens":[1]`,
	"/api/generate":             `"prompt":"x","stream":false`,
	"/api/chat":                 `"messages":[{"role":"user","content":"x"}],"stream":false`,
	"/api/embed":                `"input":"x"`,
	"/api/embeddings":           `"prompt":"x"`,
}

func TestNameWithTagLatestIsTheNameOnEveryRoute(t *testing.T) {
	for path, rest := range modelRoutes {
		for name, want := range map[string]string{
			"tandem": "tandem", "tandem:latest": "tandem", "acme/coder:latest": "acme/coder",
			"Acme/Big:latest": "Acme/Big", "whole:latest": "whole:latest", "whole": "whole",
			"whole:latest:latest": "whole:latest", "nope:latest": "nope:latest", "acme:7b": "acme:7b",
		} {
			if got, w := acquiredFor(t, path, name, rest); got != want {
				t.Errorf("%s: %s is %q, want %q: %d", path, name, got, want, w.Code)
			}
		}
	}
}

// A name that another program has for a model finds it where no model has that id.
func TestNamesOfOtherProgramsWorkOnEveryRoute(t *testing.T) {
	for path, rest := range modelRoutes {
		fake := roomtest.NewBackend()
		to := services(fake)
		var names []string
		to.Pool = askedPool{fake, &names}
		roomtest.Post(New(to, Options{}).Endpoint(), path, `{"model":"foreign:8b",`+rest+`}`)
		if len(names) == 0 || len(names) > 2 || names[len(names)-1] != fake.Model.Name {
			t.Errorf("%s: %q were asked for", path, names)
		}
	}
}

func TestCaseOfNamesMattersExceptOnOllamasRoutes(t *testing.T) {
	for path, rest := range modelRoutes {
		for name, folded := range map[string]string{
			"Tandem": "tandem", "TANDEM:Latest": "tandem", "ACME/coder": "acme/coder",
			"acme/BIG:LATEST": "Acme/Big", "twin": "twin", "TWIN:latest": "TWIN",
			"Whole:latest": "whole:latest",
		} {
			want := folded
			if !strings.HasPrefix(path, "/api/") {
				want = name
				if bare := strings.TrimSuffix(name, ":latest"); bare == "TWIN" {
					want = bare
				}
			}
			if got, w := acquiredFor(t, path, name, rest); got != want {
				t.Errorf("%s: %s is %q, want %q: %d", path, name, got, want, w.Code)
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

func TestOllamasAnswerHasTheNameThatWasAsked(t *testing.T) {
	for _, name := range []string{"tandem", "tandem:latest", "Tandem:Latest", "acme/coder",
		"ACME/Coder:latest"} {
		for path, rest := range map[string]string{
			"/api/generate": `,"prompt":"x"`, "/api/chat": `,"messages":[{"role":"user","content":"x"}]`,
		} {
			for _, more := range []string{rest, rest + `,"stream":false`, "", `,"keep_alive":0`} {
				w := roomtest.Post(New(services(roomtest.NewBackend()), Options{}).Endpoint(), path, `{"model":"`+name+`"`+more+`}`)
				for _, a := range roomtest.ReadOllamaLines(t, w.Body) {
					if a.Model != name {
						t.Errorf("%s as %s%s: %+v", path, name, more, a)
					}
				}
			}
		}
	}
}

func TestOllamaShowHasTheListedName(t *testing.T) {
	for name, want := range map[string]string{"tandem": "tandem:latest",
		"TANDEM:latest": "tandem:latest", "Acme/Coder": "acme/coder:latest",
		"foreign:8b": "acme/coder:latest"} {
		w := roomtest.Post(New(detailedServices(roomtest.NewBackend()), Options{}).Endpoint(), "/api/show",
			`{"model":"`+name+`"}`)
		var show ollama.Show
		if err := json.Unmarshal(w.Body.Bytes(), &show); err != nil ||
			show.ModelInfo["general.basename"] != want ||
			show.ModelInfo["general.size_label"] != show.Details.ParameterSize {
			t.Errorf("%s: %v: %d %s", name, err, w.Code, w.Body)
		}
	}
}
