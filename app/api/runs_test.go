package api_test

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
	"tandem/engine/enginetest"
)

// TestLongTextIsRefusedBeforeTokenizing: a text that cannot fit is refused before it is tokenized.
func TestLongTextIsRefusedBeforeTokenizing(t *testing.T) {
	fake := roomtest.NewBackend()
	long := strings.Repeat("x", 64*len("<bos>")+1)
	for path, body := range map[string]string{
		"/v1/completions": `{"model":"tandem","prompt":"` + long + `"}`,
		"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"` + long +
			`"}]}`,
	} {
		w := roomtest.Post(serve(fake), path, body)
		if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Code != string(engine.CodeContextLength) ||
			!strings.Contains(e.Message, "you requested at least 65 tokens") {
			t.Errorf("%s: %d %+v", path, w.Code, e)
		}
	}
	if fake.Model.EncodedTexts != 0 {
		t.Errorf("%d texts were tokenized", fake.Model.EncodedTexts)
	}
}

// TestHistoryHoldsNoText: the row of an error quotes nothing that a client wrote.
func TestHistoryHoldsNoText(t *testing.T) {
	for _, body := range []string{
		`{"model":"tandem","messages":[{"role":"secret","content":"x"}]}`,
		`{"model":"tandem","secret":1,"secret":2}`,
		`{"model":"tandem","messages":[{"role":"user","secret":1,"secret":2}]}`,
		`{"model":"tandem","messages":[{"role":"user","content":[{"type":"secret"}]}]}`,
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"logit_bias":{"secret":1}}`,
		`{"model":"tandem","messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"messages":"secret"}}`,
	} {
		fake := roomtest.NewBackend()
		if w := roomtest.Post(serve(fake), "/v1/chat/completions",
			body); w.Code != 400 {
			t.Errorf("%s: %d", body, w.Code)
		}
		if r := fake.LastRun(); r.Error == "" || strings.Contains(r.Error, "secret") {
			t.Errorf("%s: the history has %q", body, r.Error)
		}
	}
}

// If a run is cancelled before its model is in memory, the client is told so.
func TestCancelEndsWaitForModel(t *testing.T) {
	s := serve(roomtest.NewBackend().Lend(waitForever))
	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		answered <- roomtest.Post(s, "/v1/completions", `{"model":"tandem","prompt":"x"}`)
	}()
	enginetest.Await(t, "the run is cancelled", func() bool { return s.API.CancelRun("1") })
	w := <-answered
	if e := roomtest.DecodeError(t, w); w.Code != wire.StatusClientGone ||
		e.Code != string(control.CodeCancelled) ||
		!strings.Contains(e.Message, "run was cancelled") {
		t.Errorf("%d %+v", w.Code, e)
	}
}

// waitForever lends a model that is never ready.
func waitForever(ctx context.Context) (model.Model, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("waiting: %w", ctx.Err())
}

// TestPromptProgressCountsSharedPromptOnce: choices share a prompt, so it is restored and read once.
func TestPromptProgressCountsSharedPromptOnce(t *testing.T) {
	fake := roomtest.NewBackend()
	var s *roomtest.Served
	most := make(chan control.Active, 8)
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			r.Restored(2)
			r.Progress(len(r.Prompt), len(r.Prompt))
			most <- s.API.Active()[0]
			yield(engine.Token{ID: 'a', Text: "a", Finish: engine.FinishStop}, nil)
		}
	}
	s = serve(fake)
	if w := roomtest.Post(s, "/v1/completions",
		`{"model":"tandem","prompt":["abc","de"],"n":4}`); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	for range 8 {
		if a := <-most; a.PromptDone > 7 || a.PromptRestored > 4 || a.PromptRestored > a.PromptDone {
			// with a BOS each
			t.Errorf("%d of 7 prompt tokens are done, %d of them restored", a.PromptDone,
				a.PromptRestored)
		}
	}
}

// TestReadingBeginsBeforeItsFirstTokens: a request waits until the engine begins to restore, and reads
// after that, even if nothing was restored.
func TestReadingBeginsBeforeItsFirstTokens(t *testing.T) {
	fake := roomtest.NewBackend()
	var s *roomtest.Served
	var does []string
	look := func() {
		switch a := s.API.Active()[0]; {
		case a.Waits():
			does = append(does, "waits")
		case a.Restores():
			does = append(does, "restores")
		default:
			does = append(does, "reads")
		}
	}
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			look()
			r.Restoring()
			look()
			r.Restored(0)
			look()
			yield(engine.Token{ID: 'a', Text: "a", Finish: engine.FinishStop}, nil)
		}
	}
	s = serve(fake)
	if w := roomtest.Post(s, "/v1/completions",
		`{"model":"tandem","prompt":"abc"}`); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if !slices.Equal(does, []string{"waits", "restores", "reads"}) {
		t.Errorf("it %q", does)
	}
}
