package server

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tandem/app/roomtest"
)

// A defect fails one request.
func TestPanicFailsOneRequest(t *testing.T) {
	fake := roomtest.NewBackend()
	s := New(services(fake), Options{})
	fake.Model.Script = roomtest.Script(func(context.Context, func(string, error) bool) { panic("broken") })
	fake.Model.Template = func([]byte) (string, error) { panic("broken") }
	for _, c := range [][2]string{
		{"/v1/completions", `{"model":"tandem","prompt":"x"}`},
		{"/v1/completions", `{"model":"tandem","prompt":"x","stream":true}`},
		{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`},
		{"/v1/chat/completions", `{"model":"tandem","messages":[{"role":"user","content":"x"}],"stream":true}`},
	} {
		w := roomtest.Post(s.Endpoint(), c[0], c[1])
		if e := roomtest.DecodeError(t, w); w.Code != 500 || e.Code != "internal" ||
			w.Header().Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %+v", c[1], w.Code, e)
		}
		if r := fake.LastRun(); r.FinishReason != "error" || fake.Held != 0 ||
			len(s.api.Active()) != 0 {
			t.Errorf("%s: the history has %+v; %d held, %d in flight",
				c[1], r, fake.Held, len(s.api.Active()))
		}
	}
	// A panic does not keep the turn of a large body, of which there are a few at once.
	for _, path := range []string{"/v1/chat/completions", "/v1/messages/count_tokens"} {
		for i := range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			w := httptest.NewRecorder()
			s.Endpoint().ServeHTTP(w, roomtest.Request(path, `{"model":"tandem","messages":[{"role":"user","content":"x"}]`+
				strings.Repeat(" ", 30<<20)+`}`).WithContext(ctx))
			waited := ctx.Err() != nil
			if cancel(); w.Code != 500 || waited {
				t.Fatalf("%s, large body %d: %d %s", path, i, w.Code, w.Body)
			}
		}
	}
	// A panic while a failed stream is cleaned up fails that stream alone, too.
	fake.Model.OnRelease = func() { panic("broken") }
	if w := roomtest.Post(s.Endpoint(), "/v1/chat/completions",
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"stream":true}`); w.Code != 500 {
		t.Errorf("a panic after a failure: %d %s", w.Code, w.Body)
	}
	fake.Model.OnRelease, fake.Model.Script = nil, nil
	if w := roomtest.Post(s.Endpoint(), "/v1/completions",
		`{"model":"tandem","prompt":"x"}`); w.Code != 200 {
		t.Errorf("the next request: %d %s", w.Code, w.Body)
	}
}
