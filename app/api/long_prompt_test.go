package api_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// reading returns a backend whose model reads a prompt for a minute, and tells of its first chunk
// after a second.
func reading() *roomtest.Backend {
	fake := roomtest.Lettered(control.KindAnswer)
	fake.Model.Context = 4096
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			defer r.Done(engine.Stats{})
			time.Sleep(time.Second)
			r.Progress(1, 60)
			time.Sleep(time.Minute)
			yield(engine.Token{ID: 'a', Text: "a", Finish: engine.FinishStop}, nil)
		}
	}
	return fake
}

// TestStreamTellsOfALongPromptInEvents: programs count the events that they know, and give up after
// some minutes without one. So a stream begins with the prompt's first chunk, and a response says
// again and again that it is in progress.
func TestStreamTellsOfALongPromptInEvents(t *testing.T) {
	for path, c := range map[string]struct{ begins, silence string }{
		"/v1/responses":        {"event: response.created", "event: response.in_progress"},
		"/v1/messages":         {"event: message_start", "event: ping"},
		"/v1/chat/completions": {`data: {"id":`, ": keep-alive"},
	} {
		i := slices.IndexFunc(streamRoutes(), func(r streamRoute) bool { return r.path == path })
		synctest.Test(t, func(t *testing.T) {
			w := streamRoutes()[i].ask(t.Context(), reading())
			if len(w.Events) < 13 || !strings.HasPrefix(w.Events[0], "1s: "+c.begins) {
				t.Fatalf("%s: %q", path, w.Events)
			}
			for i, e := range w.Events[1:13] {
				at := time.Duration(3+5*i) * time.Second
				if !strings.HasPrefix(e, at.String()+": "+c.silence) {
					t.Errorf("%s: event %d is %.100q", path, i+1, e)
				}
			}
		})
	}
}

// TestResponseInProgressHasTheModelOnceItIsKnown: the events count up over the signs that more is to
// come, and their response is whole.
func TestResponseInProgressHasTheModelOnceItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := reading()
		fake.OnLoad = func(context.Context) error {
			time.Sleep(10 * time.Second)
			return nil
		}
		w := roomtest.NewWriter()
		serve(fake).ServeHTTP(w, roomtest.Request("/v1/responses",
			roomtest.ResponseBody(`"input":"x","stream":true`)))
		var all []string
		for _, e := range w.Events {
			_, e, _ = strings.Cut(e, ": ")
			all = append(all, e)
		}
		list := roomtest.ReadResponseEvents(t, strings.Join(all, "\n\n"))
		for i, e := range list[:8] {
			want := control.Alias
			if i >= 3 { // the prompt is read
				want = fake.Model.Name
			}
			kind := e.Type
			if e.Number != i {
				t.Errorf("event %d: e.Number = %v, want %v", i, e.Number, i)
			}
			if (kind == "response.created") != (i == 0) {
				t.Errorf(`event %d: kind == "response.created" is %v, want %v`,
					i, kind == "response.created", i == 0)
			}
			if e.Response == nil {
				t.Fatalf("event %d: e.Response is nil", i)
			}
			if e.Response.Model != want {
				t.Errorf("event %d: e.Response.Model = %v, want %v", i, e.Response.Model, want)
			}
			if e.Response.Status != "in_progress" {
				t.Errorf(`event %d: e.Response.Status = %q, want "in_progress"`,
					i, e.Response.Status)
			}
			if len(e.Response.Output) != 0 {
				t.Errorf("event %d: len(e.Response.Output) = %v, want 0", i, len(e.Response.Output))
			}
		}
	})
}
