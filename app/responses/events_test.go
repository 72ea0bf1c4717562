package responses_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/responses"
	"tandem/app/roomtest"
	"tandem/engine"
)

// silentModel ends at once.
func silentModel(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	return func(yield func(engine.Token, error) bool) {
		r.Done(engine.Stats{PromptTokens: len(r.Prompt), CompletionTokens: 1})
		yield(engine.Token{ID: 260, Finish: engine.FinishStop}, nil)
	}
}

// checkResponseStream checks that a response in events equals the response in one piece.
func checkResponseStream(t *testing.T, fake *roomtest.Backend, body, want,
	status string) []roomtest.ResponseEvent {
	t.Helper()
	w := roomtest.Post(serve(fake), "/v1/responses",
		strings.Replace(body, "{", `{"stream":true,`, 1))
	list := roomtest.ReadResponseEvents(t, w.Body.String())
	items := roomtest.JoinItems(t, list)
	last := list[len(list)-1]
	if last.Type != "response."+status || last.Response == nil || last.Response.Status != status ||
		last.Response.Usage == nil {
		t.Fatalf("the last event is %s", w.Body)
	}
	if got := short(items); got != want {
		t.Errorf("in events\n%s, want\n%s", got, want)
	}
	if fmt.Sprint(items) != fmt.Sprint(last.Response.Output) {
		t.Errorf("in events\n%+v, in the last\n%+v", items, last.Response.Output)
	}
	if ct := w.Header().Get("Content-Type"); ct != "text/event-stream" || fake.Held != 0 {
		t.Errorf("%s, %d models held", ct, fake.Held)
	}
	return list
}

// TestResponseEventsComeInDocumentedOrder checks the order of events that OpenAI documents.
func TestResponseEventsComeInDocumentedOrder(t *testing.T) {
	fake := roomtest.Speaking("<think>\nhm\n</think>\n\nhe\n" + roomtest.GoCall)
	list := checkResponseStream(t, fake,
		roomtest.ResponseBody(`"input":"x","tools":[{"type":"function","name":"go"}]`),
		"reasoning completed reasoning_text \"hm\"\nmessage completed output_text \"he\"\nfunction_call completed  go {}\n",
		responses.Completed)
	var got []string
	for _, e := range list {
		if kind := strings.TrimPrefix(e.Type, "response."); len(got) == 0 ||
			got[len(got)-1] != kind {
			got = append(got, kind)
		}
	}
	want := `created in_progress
		output_item.added content_part.added reasoning_text.delta reasoning_text.done content_part.done output_item.done
		output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done
		output_item.added function_call_arguments.delta function_call_arguments.done output_item.done
		completed`
	if strings.Join(got, " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("the events are %s", got)
	}
}

// Before the first event a failure is an answer. After it the failure is the last event, with the
// fields that clients read.
func TestResponseFailureIsLastEvent(t *testing.T) {
	full := &engine.Error{Code: engine.CodeQueueFull, Message: "The queue is full."}
	fake := roomtest.Speaking("hello")
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) { yield(engine.Token{}, full) }
	}
	w := roomtest.Post(serve(fake), "/v1/responses",
		roomtest.ResponseBody(`"input":"x","stream":true`))
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" ||
		roomtest.DecodeError(t, w).Code != "queue_full" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	fake.Model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			if yield(engine.Token{ID: 'h', Text: "h"}, nil) {
				yield(engine.Token{}, full)
			}
		}
	}
	w = roomtest.Post(serve(fake), "/v1/responses",
		roomtest.ResponseBody(`"input":"x","stream":true`))
	list := roomtest.ReadResponseEvents(t, w.Body.String())
	last := list[len(list)-1]
	if last.Type != "response.failed" {
		t.Errorf(`last.Type = %q, want "response.failed"`, last.Type)
	}
	if last.Response.Status != "failed" {
		t.Errorf(`last.Response.Status = %q, want "failed"`, last.Response.Status)
	}
	if last.Response.Error == nil {
		t.Fatal("last.Response.Error is nil")
	}
	if last.Response.Error.Message != "The queue is full." {
		t.Errorf(`last.Response.Error.Message = %q, want "The queue is full."`,
			last.Response.Error.Message)
	}
	if last.Response.Error.Code != "server_error" {
		t.Errorf(`last.Response.Error.Code = %q, want "server_error"`,
			last.Response.Error.Code)
	}
	if last.Response.Store {
		t.Error("last.Response.Store = true, want false")
	}
	if len(fake.KeptResponses) != 0 || fake.LastRun().FinishReason != "error" {
		t.Errorf("%d kept, %+v", len(fake.KeptResponses), fake.LastRun())
	}
}

// A client that waits is told so in events. A failure after that is an event too.
func TestResponseStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := roomtest.Speaking("hello")
		fake.Model.Script = roomtest.Script(func(_ context.Context, yield func(string, error) bool) {
			time.Sleep(3 * time.Second)
			yield("", &engine.Error{Code: engine.CodeQueueFull, Message: "The queue is full."})
		})
		w := roomtest.NewWriter()
		serve(fake).ServeHTTP(w,
			roomtest.Request("/v1/responses", roomtest.ResponseBody(`"input":"x","stream":true`)))
		if len(w.Events) != 2 {
			t.Fatalf("%q", w.Events)
		}
		list := roomtest.ReadResponseEvents(t, strings.TrimPrefix(w.Events[0], "2s: ")+"\n\n"+
			strings.TrimPrefix(w.Events[1], "3s: "))
		if len(list) != 3 || list[0].Type != "response.created" ||
			list[2].Type != "response.failed" ||
			*list[2].Response.Error != (roomtest.ResponseError{Code: "server_error", Message: "The queue is full."}) {
			t.Errorf("%q", w.Events)
		}
	})
}

// A client may write its tools over several lines. Each event shows them on one.
func TestToolsOverSeveralLinesBreakNoEvent(t *testing.T) {
	w := roomtest.Post(serve(roomtest.Speaking("ok")), "/v1/responses",
		roomtest.ResponseBody(`"input":"x","stream":true,"tools":[{
			"type": "function",
			"name": "go"
		}]`))
	list := roomtest.ReadResponseEvents(t, w.Body.String()) // fails if an event is no JSON
	if last := list[len(list)-1]; last.Type != "response.completed" {
		t.Errorf("the last event is %q", last.Type)
	}
}
