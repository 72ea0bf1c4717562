package api_test

import (
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestPromptHasOneBOSOnEachRoute: the BOS is a prompt's first token, whoever writes it.
func TestPromptHasOneBOSOnEachRoute(t *testing.T) {
	for path, bodies := range map[string][]string{
		"/v1/completions": {`"prompt":"<bos>x"`, `"prompt":"x"`, `"prompt":["<bos>x","<bos>y"]`,
			`"prompt":"<bos>x","echo":true`},
		"/v1/fim/completions":  {`"prompt":"<bos>x"`, `"prompt":"x","suffix":"y"`},
		"/completion":          {`"prompt":"<bos>x"`, `"prompt":"x"`},
		"/api/generate":        {`"stream":false,"raw":true,"prompt":"<bos>x"`},
		"/v1/chat/completions": {`"messages":[{"role":"user","content":"x"}]`},
	} {
		for _, body := range bodies {
			fake := roomtest.Speaking("ok")
			fake.Model.Template = func([]byte) (string, error) { return "<bos>x", nil }
			w := roomtest.Post(serve(fake), path, `{"model":"tandem",`+body+`}`)
			if w.Code != 200 {
				t.Errorf("%s %s: %d %s", path, body, w.Code, w.Body)
				continue
			}
			for _, r := range fake.Model.Requests {
				if got := fake.Model.Decode(r.Prompt); strings.Count(got, "<bos>") != 1 ||
					!strings.HasPrefix(got, "<bos>") {
					t.Errorf("%s %s: the prompt is %q", path, body, got)
				}
			}
		}
	}
	fake := roomtest.NewBackend()
	fake.Model.Purpose = control.KindEmbedding
	w := roomtest.Post(serve(fake), "/v1/embeddings", `{"model":"tandem","input":"<bos>x"}`)
	if got := fake.Model.Decode(fake.Model.ReadTexts[0]); w.Code != 200 || got != "<bos>x" {
		t.Errorf("an embedding reads %q: %s", got, w.Body)
	}
}
