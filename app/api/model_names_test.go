package api_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/model"
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

// acquiredFor posts a body with a model's name, and returns the name that the pool was asked for.
func acquiredFor(t *testing.T, path, name, rest string) (acquired string,
	w *httptest.ResponseRecorder) {
	t.Helper()
	fake := roomtest.NewBackend()
	var names []string
	// ids with tags and in mixed case
	fake.Library = []control.Model{{ID: fake.Model.Name, ContextLength: 64}, {ID: "Acme/Big"},
		{ID: "whole:latest"}, {ID: "whole"}, {ID: "TWIN"}, {ID: "twin"}}
	fake.To.Pool = askedPool{fake, &names}
	w = roomtest.Post(serve(fake), path, `{"model":"`+name+`",`+rest+`}`)
	if len(names) != 1 {
		t.Fatalf("%s as %s: %q was asked for: %d %s", path, name, names, w.Code, w.Body)
	}
	return names[0], w
}

func TestNameWithTagLatestIsTheNameOnEveryRoute(t *testing.T) {
	for path, rest := range roomtest.ModelBodies {
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
	for path, rest := range roomtest.ModelBodies {
		fake := roomtest.NewBackend()
		var names []string
		fake.To.Pool = askedPool{fake, &names}
		roomtest.Post(serve(fake), path, `{"model":"foreign:8b",`+rest+`}`)
		if len(names) == 0 || len(names) > 2 || names[len(names)-1] != fake.Model.Name {
			t.Errorf("%s: %q were asked for", path, names)
		}
	}
}

func TestCaseOfNamesMattersExceptOnOllamasRoutes(t *testing.T) {
	for path, rest := range roomtest.ModelBodies {
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
