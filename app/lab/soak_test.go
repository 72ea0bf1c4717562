package lab

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"tandem/app"
	"tandem/app/control"
	"tandem/engine/enginetest"
)

// A logOfErrors fails the test for each line.
type logOfErrors struct{ t *testing.T }

func (l logOfErrors) Write(line []byte) (int, error) {
	l.t.Errorf("the log says: %s", line)
	return len(line), nil
}

// Requests are of all kinds, and some clients leave before they are answered. After them there are
// no more goroutines or open files than before. No request is queued or in flight, and every row of
// the history has its end.
func TestSoakLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		model string
		kinds []soakKind
		n     int
	}{
		{"writes", enginetest.TinyModel(t, "qwen3"), soakKinds(false), 200},
		{"embeds", enginetest.TinyEmbedder(t), embeddingKinds(), 70},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := slog.New(slog.NewTextHandler(logOfErrors{t},
				&slog.HandlerOptions{Level: slog.LevelError}))
			url, home := serveApp(t, app.Options{Model: c.model, Logger: log})
			s := newSoak(url, home, c.kinds, 20*time.Millisecond)
			warm := 2 * len(c.kinds)
			if err := s.send(t.Context(), 0, warm); err != nil {
				t.Fatal(err)
			}
			before, err := s.awaitSteady(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if before.goroutines == 0 || before.queued+before.inFlight+before.open > 0 {
				t.Errorf("before the requests there are %+v", before)
			}
			if err := s.send(t.Context(), warm, warm+c.n); err != nil {
				t.Fatal(err)
			}
			// Only what stays for ever takes so long.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			after, err := s.awaitCleared(ctx, before)
			if err != nil {
				t.Fatal(err)
			}
			if after.exceeds(before) {
				t.Errorf("%+v are left, there were %+v before", after, before)
			}
			answered, refused, left := s.answered.Load(), s.refused.Load(), s.left.Load()
			if answered+refused+left != int64(warm+c.n) || left == 0 || refused == 0 {
				t.Errorf("of %d requests %d were answered, %d refused, %d left", warm+c.n, answered,
					refused, left)
			}
		})
	}
}

func TestSoakCountsARequestInFlight(t *testing.T) {
	model := enginetest.TinyModel(t, "llama", map[string]any{
		// the answer does not end by itself
		"max_position_embeddings": 1 << 16, "eos_token_id": 1000,
	})
	url, home := serveApp(t, app.Options{Model: model, NoCheckpoints: true})
	s := newSoak(url, home, nil, time.Millisecond)
	before, err := s.awaitSteady(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	const body = `{"model":"tandem","prompt":"aaa","max_tokens":60000,"ignore_eos":true,"temperature":0,"stream":true}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	c := control.Dial(home)
	defer c.Close()
	awaitState(t, c, func(s control.State) bool {
		return len(s.Active) == 1 && s.Active[0].PromptTokens == 3 &&
			s.Active[0].CompletionTokens > 0
	})
	now, err := s.count(t.Context())
	if err != nil {
		t.Fatalf("with a request in flight: %v", err)
	}
	if now.inFlight != 1 {
		t.Errorf("with a request in flight: now.inFlight = %v, want 1", now.inFlight)
	}
	if now.open != 1 {
		t.Errorf("with a request in flight: now.open = %v, want 1", now.open)
	}
	if !now.exceeds(before) {
		t.Errorf("with a request in flight: %+v does not exceed %+v", now, before)
	}
	if now.goroutines <= before.goroutines {
		t.Errorf("with a request in flight: now.goroutines = %v, want more than %v",
			now.goroutines, before.goroutines)
	}
	for _, c := range []idleCounts{{goroutines: 1}, {files: spareFiles + 1}, {queued: 1},
		{inFlight: 1}, {open: 1}} {
		if !c.exceeds(idleCounts{}) || (idleCounts{}).exceeds(c) {
			t.Errorf("%+v", c)
		}
	}
}

// embeddingKinds returns requests of all kinds for a model that embeds texts.
func embeddingKinds() []soakKind {
	return []soakKind{
		{"embedding", "/v1/embeddings", `{"model":"tandem","input":"What is a list?"}`,
			http.StatusOK},
		{"embeddings", "/v1/embeddings",
			`{"model":"tandem","input":["a","b","` + strings.Repeat("c d ", 200) +
				`"],"encoding_format":"base64"}`,
			http.StatusOK},
		{"Ollama, embed", "/api/embed", `{"model":"tandem","input":["a","b"]}`, http.StatusOK},
		{"Ollama, embeddings", "/api/embeddings", `{"model":"tandem","prompt":"a"}`, http.StatusOK},
		{"ranks of a model that embeds", "/v1/rerank",
			`{"model":"tandem","query":"a","documents":["a","b"]}`, http.StatusBadRequest},
		{"chat of a model that embeds", "/v1/chat/completions",
			`{"model":"tandem","messages":[{"role":"user","content":"a"}]}`, http.StatusBadRequest},
		{"no texts", "/v1/embeddings", `{"model":"tandem","input":[]}`, http.StatusBadRequest},
	}
}
