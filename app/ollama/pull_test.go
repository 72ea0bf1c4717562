package ollama_test

import (
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// TestPullSucceedsForInstalledModels: a model that is installed needs no download, by whatever name a
// program has for it. Others are refused in Ollama's words, with the command that downloads one.
func TestPullSucceedsForInstalledModels(t *testing.T) {
	for _, name := range []string{"tandem", "tandem:latest", "TANDEM", "acme/coder", "Acme/Coder:latest", "foreign:8b"} {
		for fields, want := range map[string]string{
			``: "application/x-ndjson", `,"stream":true`: "application/x-ndjson",
			`,"stream":null,"insecure":true`: "application/x-ndjson", `,"stream":false`: "application/json",
		} {
			for _, key := range []string{"model", "name"} {
				w := roomtest.Post(serve(roomtest.Detailed()), "/api/pull", `{"`+key+`":"`+name+`"`+fields+`}`)
				if w.Code != 200 || strings.TrimSuffix(w.Body.String(), "\n") != `{"status":"success"}` ||
					w.Header().Get("Content-Type") != want {
					t.Errorf("%s %s%s: %d %v %s", key, name, fields, w.Code, w.Header(), w.Body)
				}
			}
		}
	}
	for _, name := range []string{"llama3.2", "acme/other", "hf.co/acme/coder:Q4_K_M"} {
		for _, fields := range []string{``, `,"stream":false`} {
			w := roomtest.Post(serve(roomtest.Detailed()), "/api/pull", `{"model":"`+name+`"`+fields+`}`)
			if text := roomtest.DecodeOllama(t, w); w.Code != 404 ||
				!strings.HasPrefix(text, "pull model manifest: file does not exist") ||
				!strings.Contains(text, name) || !strings.HasSuffix(text, "`tandem pull ORG/NAME` downloads a model.") {
				t.Errorf("%s%s: %d %s", name, fields, w.Code, text)
			}
		}
	}
	for _, body := range []string{`{}`, `{"model":""}`, `{"model":"tandem","stream":"yes"}`, `{"model":7}`} {
		if w := roomtest.Post(serve(roomtest.Detailed()), "/api/pull", body); w.Code != 400 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
