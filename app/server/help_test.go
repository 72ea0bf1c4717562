package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestLogStreamsKeptLinesFirst: the lines that were kept come at once. Each later line comes when
// it is logged.
func TestLogStreamsKeptLinesFirst(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.AddLog("first")
	fake.AddLog("second")
	srv := httptest.NewServer(New(services(fake), Options{}).Socket())
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/app/log", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (l control.LogLine) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &l); err != nil {
					t.Fatal(err)
				}
				return l
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return l
	}
	if a, b := next(), next(); a.Text != "first" || b.Text != "second" || b.Seq != 2 {
		t.Errorf("%+v %+v", a, b)
	}
	fake.AddLog("third")
	if c := next(); c.Text != "third" {
		t.Errorf("%+v", c)
	}
}

func TestHelpRoutesAnswer(t *testing.T) {
	s := New(services(roomtest.NewBackend()), Options{})
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/app/log", "", 200, `{"lines":[]}`},
		{"GET", "/app/report", "", 200, `{"version":"test"}`},
		{"POST", "/app/report", `{"text":"{}"}`, 200, "/downloads/report.json"},
		{"POST", "/app/report", "{}", 400, "send the answer of GET /app/report"},
		{"POST", "/app/settings/export", "{}", 200, "/downloads/settings.json"},
		{"GET", "/app/updates", "", 200, `"offered":true`},
		{"POST", "/app/updates", "{}", 200, `"version":"9.0.0"`},
		{"GET", "/app/command-line", "", 200, `"link":"foreign"`},
		{"POST", "/app/command-line", "{}", 507, "something else is there"},
	} {
		r := roomtest.LocalRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Socket().ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
