package api_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// A watchedWriter calls seen before each write.
type watchedWriter struct {
	*httptest.ResponseRecorder
	seen func(data []byte)
}

func (w *watchedWriter) Write(data []byte) (int, error) {
	w.seen(data)
	return w.ResponseRecorder.Write(data)
}

// A client that has its whole answer finds the model idle, so it can ask for another model at once.
func TestModelIsReleasedBeforeTheEnd(t *testing.T) {
	for _, body := range []string{
		`{"model":"tandem","prompt":"a b c","max_tokens":4}`,
		`{"model":"tandem","prompt":"a b c","max_tokens":4,"stream":true}`,
		`{"model":"tandem","prompt":"a b c","max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"tandem","messages":[{"role":"user","content":"a b c"}],"max_tokens":4}`,
		`{"model":"tandem","messages":[{"role":"user","content":"a b c"}],"max_tokens":4,"stream":true}`,
		`{"model":"tandem","input":"a b c","max_output_tokens":4}`,
		`{"model":"tandem","input":"a b c","max_output_tokens":4,"stream":true}`,
	} {
		path := "/v1/completions"
		switch {
		case strings.Contains(body, "messages"):
			path = "/v1/messages"
		case strings.Contains(body, "input"):
			path = "/v1/responses"
		}
		fake := roomtest.NewBackend()
		last, held := "", 0
		w := &watchedWriter{httptest.NewRecorder(), func(data []byte) {
			fake.Mu.Lock()
			defer fake.Mu.Unlock()
			last, held = string(bytes.TrimSpace(data)), fake.Held
		}}
		serve(fake).ServeHTTP(w,
			roomtest.Request(path, body))
		if w.Code != http.StatusOK || !strings.HasSuffix(last, "[DONE]") &&
			!strings.HasSuffix(last, "}") {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		if held != 0 || fake.Held != 0 {
			t.Errorf("%s: held %d times during the last write, %d afterwards",
				body, held, fake.Held)
		}
	}
}
