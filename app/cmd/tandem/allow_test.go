package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// The names given to --allow-host and --allow-origin may call the endpoint. No other name may.
func TestOnlyAllowedHostsAndOriginsMayCall(t *testing.T) {
	p := serveProcess(t, newHome(t), "--allow-host", "models.example.org", "--allow-host",
		"other.example.org:443", "--allow-origin", "app://obsidian.md")
	defer p.stop(t)
	for _, c := range []struct {
		host, origin string
		want         int
		says         string
	}{
		{"models.example.org", "", http.StatusOK, ""},
		{"models.example.org:8443", "", http.StatusOK, ""},
		{"other.example.org", "", http.StatusOK, ""},
		{"evil.example.org", "", http.StatusForbidden, "--allow-host"},
		{"localhost", "app://obsidian.md", http.StatusOK, ""},
		{"localhost", "https://evil.example.org", http.StatusForbidden, "--allow-origin"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/v1/models", nil)
		must(t, err)
		req.Host = c.host
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != c.want || !strings.Contains(string(body), c.says) {
			t.Errorf("host %q, origin %q: %s %s, want %d",
				c.host, c.origin, resp.Status, body, c.want)
		}
		allowed := ""
		if c.want == http.StatusOK {
			allowed = c.origin
		}
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != allowed {
			t.Errorf("host %q, origin %q: a page of %q may read the answer, want %q",
				c.host, c.origin, got, allowed)
		}
	}
}
