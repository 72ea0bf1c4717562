package api_test

import (
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestRequestWithoutAModelGetsTheChosenOne: below /v1, and where llama.cpp's programs call, a body need
// not name a model. Where none is chosen it must. Ollama's API asks for a name.
func TestRequestWithoutAModelGetsTheChosenOne(t *testing.T) {
	list := append([]asking{
		{path: "/v1/messages/count_tokens", body: `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`},
		{path: "/v1/responses/input_tokens", body: `{"model":"tandem","input":"x"}`},
		{path: "/tokenize", body: `{"model":"tandem","content":"x"}`},
	}, askings...)
	for _, a := range list {
		for _, stream := range a.streams() {
			for _, name := range []string{``, `"model":"",`, `"model":null,`} {
				body := strings.Replace(a.with("", stream), `"model":"tandem",`, name, 1)
				for _, chosen := range []bool{true, false} {
					fake := roomtest.NewBackendOf(a.kind)
					fake.Model.Context = 4096
					if !chosen {
						fake.OnState = func(s *control.State) { s.Choice = "" }
					}
					w := roomtest.Post(serve(fake), a.path, body)
					named := strings.HasPrefix(a.path, "/api/") && !strings.HasPrefix(a.path, "/api/v0/")
					switch {
					case chosen && !named && w.Code != 200:
						t.Errorf("%s %s: %d %s", a.path, body, w.Code, w.Body)
					case (named || !chosen) && (w.Code != 400 || !strings.Contains(w.Body.String(), "model is missing")):
						t.Errorf("%s %s, chosen %t: %d %s", a.path, body, chosen, w.Code, w.Body)
					case chosen && !named && strings.Contains(w.Body.String(), `"model":""`):
						t.Errorf("%s %s: the answer names no model: %s", a.path, body, w.Body)
					}
				}
			}
		}
	}
}
