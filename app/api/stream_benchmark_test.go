package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// BenchmarkStream measures the endpoint's own cost of one token over a real connection: from the
// engine's yield to the client's read.
func BenchmarkStream(b *testing.B) {
	fake := roomtest.NewBackend()
	fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
		for range b.N {
			if !yield(" token", nil) {
				return
			}
		}
	})
	srv := httptest.NewServer(serve(fake))
	defer srv.Close()
	b.ResetTimer()
	resp, err := http.Post(srv.URL+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"tandem","prompt":"x","stream":true}`))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStreamPaced measures the same with each token flushed alone. After each token the
// generator waits for the writer's goroutine.
func BenchmarkStreamPaced(b *testing.B) {
	fake := roomtest.NewBackend()
	read := make(chan struct{})
	fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
		for range b.N {
			if !yield(" token", nil) {
				return
			}
			<-read
		}
	})
	srv := httptest.NewServer(serve(fake))
	defer srv.Close()
	b.ResetTimer()
	resp, err := http.Post(srv.URL+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"tandem","prompt":"x","stream":true}`))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 64<<10)
	for n := 0; n < b.N; n++ {
		if _, err := resp.Body.Read(buf); err != nil {
			b.Fatal(err)
		}
		read <- struct{}{}
	}
}
