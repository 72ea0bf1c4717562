package roomtest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// PlayTranscripts plays the requests in testdata/*.http and compares the answers, or writes them
// into the files if update is true. serve serves a backend, for a title with "(socket)" on the
// socket. A file is a list of exchanges in this form:
//
//	== title
//	METHOD path
//	Header: value
//
//	body
//	--
//	answer
//
// The answer is its status, the headers that matter and its body. Ids and times are replaced.
func PlayTranscripts(t *testing.T, update bool, serve func(f *Backend, socket bool) http.Handler) {
	PlayRecordings(t, "testdata/*.http", update, func(t *testing.T, title, request string) string {
		fake := NewBackend()
		if strings.Contains(title, "(bare model)") {
			fake.Model.Template, fake.Model.FillsMiddle = nil, false
		}
		got := exchangeText(t, serve(fake, strings.Contains(title, "(socket)")), request)
		if fake.Held != 0 {
			t.Errorf("%d models were not released", fake.Held)
		}
		return got
	})
}

// PlayRecordings plays each entry of the files that match pattern and compares what play returns with
// what the entry recorded, or writes it into the file if update is true. An entry is a line "== title",
// its input, a line "--", and what was recorded.
func PlayRecordings(t *testing.T, pattern string, update bool,
	play func(t *testing.T, title, input string) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, filepath.Ext(name)), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			head, rest, _ := strings.Cut(string(script), "== ")
			out.WriteString(head)
			for entry := range strings.SplitSeq(rest, "\n== ") {
				title, body, _ := strings.Cut(entry, "\n")
				input, want, _ := strings.Cut(body, "\n--\n")
				want = strings.TrimSuffix(want, "\n")
				t.Run(title, func(t *testing.T) {
					got := play(t, title, input)
					if !update && got != want {
						t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
					}
					fmt.Fprintf(&out, "== %s\n%s\n--\n%s\n", title, input, got)
				})
			}
			if update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

var volatile = []struct{ pattern, with string }{
	{`(chatcmpl-|cmpl-)[A-Z2-7]{26}`, "${1}ID"},
	{`"created":17[0-9]{8}`, `"created":NOW`},
	{`"created":1[89][0-9]{8}`, `"created":NOW`},
	{`("code":")[A-Z2-7]{26}`, "${1}CODE"},
	{`/#[A-Z2-7]{26}`, "/#CODE"},
	{`("(?:expires_at|started_at|ended_at)":")[^"]+`, "${1}TIME"},
	{`("queue_ms":0,)"load_ms":[0-9.]+,`, "${1}"}, // left out where loading took no time
	{`("(?:load_ms|first_token_ms|total_ms)":)[0-9.]+`, "${1}MS"},
}

func exchangeText(t *testing.T, h http.Handler, request string) string {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	lines := strings.Split(head, "\n")
	method, path, ok := strings.Cut(lines[0], " ")
	if !ok {
		t.Fatalf("bad request line %q", lines[0])
	}
	r := LocalRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "127.0.0.1:8263", "127.0.0.1:50000"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answerText(t, w)
}

func answerText(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if !strings.HasPrefix(w.Header().Get("X-Request-Id"), "req_") {
		t.Error("the answer has no X-Request-Id")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, name := range []string{"Content-Type", "Retry-After", "X-Should-Retry", "Allow",
		"Www-Authenticate", "Access-Control-Allow-Origin"} {
		if v := w.Header().Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	text := w.Body.String()
	for _, v := range volatile {
		text = regexp.MustCompile(v.pattern).ReplaceAllString(text, v.with)
	}
	return strings.TrimRight(b.String()+"\n"+text, "\n")
}
