package server

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// No text of a client is in the log, even at its most detailed level, or in the history. This holds
// for each route and each kind of mistake.
func TestEveryRouteLogsNoText(t *testing.T) {
	const secret = "sesamesesame"
	bodies := []string{
		`{"model":"tandem","prompt":"S","suffix":"S","input":"S","query":"S","documents":["S"],"messages":[{"role":"user","content":"S"}],"text":"S","title":"S","system":"S","content":"S","search":"S","max_tokens":4}`,
		`{"model":"tandem","prompt":["S","S"],"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"S"}]}]}`,
		`{"model":"tandem","prompt":{"S":"S"},"messages":[{"role":"S","content":"S"}],"input":[{"role":"S"}],"text":["S"],"title":["S"]}`,
		`{"model":"tandem","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://S"}}]}],"images":["S"]}`,
		`{"model":"tandem","prompt":"x","messages":[{"role":"user","content":"x"}],"temperature":"S","stop":["S"],"response_format":{"type":"S"}}`,
		`{"model":"tandem","prompt":"x","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"S","parameters":"S"}}],"logit_bias":{"S":"S"}}`,
		`{"model":"tandem","S":"S","S":"S"}`,
		`{"model":"tandem","prompt":"S","messages":[{"role":"user","content":"S"`,
		`S`, `["S"]`, `"S"`,
	}
	everywhere(t, Rules{}, func(t *testing.T, g guarded, e everyRoute) {
		if !e.reads() {
			return
		}
		var log strings.Builder
		g.api.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		for _, body := range bodies {
			r := roomtest.Request(e.path, strings.ReplaceAll(body, "S", secret))
			r.Method, r.Header["Authorization"] = e.method, g.Request(e).Header["Authorization"]
			r.URL.RawQuery = "search=" + secret
			r.Header.Set("X-Api-Key", secret)
			g.ask(t, r)
		}
		if strings.Contains(log.String(), secret) {
			t.Errorf("%s %s: the log has %s", e.method, e.path, &log)
		}
		g.fake.Mu.Lock()
		defer g.fake.Mu.Unlock()
		for _, run := range g.fake.Rows {
			if rows := []string{run.Error, run.Client, run.Endpoint, run.Model,
				run.FinishReason}; slices.ContainsFunc(rows,
				func(s string) bool { return strings.Contains(s, secret) }) {
				t.Errorf("%s %s: the history has %+v", e.method, e.path, run)
			}
		}
	})
}
