package roomtest

import (
	"strings"
	"testing"
)

// FuzzBody checks that no body makes a route panic or fail through its own fault. Nothing is held
// afterwards, and a template always gets JSON. The route's errors have OpenAI's form.
func FuzzBody(f *testing.F, serve func(*Backend) *Served, path string) {
	f.Fuzz(func(t *testing.T, body string) {
		fake := NewBackend()
		fake.Model.TemplateSource = Dialect
		s := serve(fake)
		w := Post(s, path, body)
		switch {
		case w.Code == 200:
		case w.Code >= 400 && w.Code < 500:
			DecodeError(t, w)
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), `"internal"`) && w.Code == 200 {
			t.Fatalf("an error of our own in the stream: %s", w.Body)
		}
		r := fake.LastRun()
		if fake.Held != 0 {
			t.Fatalf("%d models held", fake.Held)
		}
		if n := len(s.API.Active()); n != 0 {
			t.Fatalf("%d runs in flight", n)
		}
		if r.FinishReason == "" {
			t.Fatalf("the history has %+v", r)
		}
	})
}
