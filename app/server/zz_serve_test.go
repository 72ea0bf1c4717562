package server

import (
	"context"
	"iter"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"tandem/engine"
)

func TestZZServe(t *testing.T) {
	addr := os.Getenv("ZZ_ADDR")
	if addr == "" {
		t.Skip()
	}
	fake := newFake()
	fake.model.id, fake.model.context = "pocket", 32768
	fake.model.output = "ServeHTTP(w http.ResponseWriter, r *http.Request) {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif r.Method != http.MethodGet {\n\t\thttp.Error(w, \"method not allowed\", http.StatusMethodNotAllowed)\n\t\treturn\n\t}\n\tfmt.Fprintln(w, s.greeting) // héllo\n}\n"
	delay := 5 * time.Millisecond
	inner := &fakeModel{id: "pocket", context: 32768, output: fake.model.output, finish: engine.FinishStop}
	fake.model.generate = func(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			for tok, err := range inner.Generate(ctx, r) {
				if !tok.Prompt {
					time.Sleep(delay)
				}
				if !yield(tok, err) {
					return
				}
			}
		}
	}
	s := New(fake, Options{Logger: slog.Default()})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/tandem/zz_code", []byte(s.NewCode().Code), 0o600)
	HTTP(s.Endpoint(), slog.Default()).Serve(l)
}
