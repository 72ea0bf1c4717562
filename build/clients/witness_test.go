package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWitnessKeepsRefusals expects that a client gets the server's answer unchanged. A refusal
// counts if it has both numbers.
func TestWitnessKeepsRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		says   string
		counts bool
	}{
		{400, "This model's maximum context length is 8192 tokens. However, you requested 23456 tokens in the prompt. Please shorten it.", true},
		{400, "prompt is too long: 23456 tokens > 8192 maximum", true},
		{400, "prompt is too long: 456 tokens > 8192 maximum", false},
		{400, "This model's maximum context length is 8192 tokens.", false},
		{503, "prompt is too long: 23456 tokens > 8192 maximum", false},
		{200, "prompt is too long: 23456 tokens > 8192 maximum", false},
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]string{"message": c.says}})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			w.Write(body)
		}))
		defer server.Close()
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte("base = \""+server.URL+"/v1\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := between(server.URL, file)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		text, err := os.ReadFile(file)
		if want := "base = \"" + w.url + "/v1\"\n"; err != nil || string(text) != want {
			t.Errorf("the client reads %q, %v, want %q", text, err, want)
		}
		resp, err := http.Post(w.url+"/v1/responses", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || string(got) != string(body) || err != nil {
			t.Errorf("a client gets %d %q, %v", resp.StatusCode, got, err)
		}
		if told, err := w.length(); (err == nil) != c.counts ||
			strings.Contains(told, c.says) != c.counts {
			t.Errorf("%d %q is kept as %q, %v", c.status, c.says, told, err)
		}
	}
	if _, err := between("http://127.0.0.1:1", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there names a server")
	}
}
