package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/responses"
	"tandem/engine"
)

// silentModel ends at once.
func silentModel(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	return func(yield func(engine.Token, error) bool) {
		r.Done(engine.Stats{PromptTokens: len(r.Prompt), CompletionTokens: 1})
		yield(engine.Token{ID: 260, Finish: engine.FinishStop}, nil)
	}
}

// A responseEvent is an event of a stream.
type responseEvent struct {
	Type         string
	Number       int `json:"sequence_number"`
	Response     *wholeResponse
	Item         *responseItem
	Part         *struct{ Type, Text string }
	ItemID       string `json:"item_id"`
	OutputIndex  *int   `json:"output_index"`
	ContentIndex *int   `json:"content_index"`
	Delta, Text  string
	Arguments    string
	Name         string
	Logprobs     []struct{ Token string }
}

// readResponseEvents reads a stream, and checks what every event must have.
func readResponseEvents(t *testing.T, stream string) (list []responseEvent) {
	t.Helper()
	name := ""
	lines := bufio.NewScanner(strings.NewReader(stream))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e responseEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if e.Type != name || e.Number != len(list) {
			t.Errorf("event %d is %d %s, and called %s", len(list), e.Number, e.Type, name)
		}
		list = append(list, e)
	}
	return list
}

// joinedEvents joins the items of a stream as clients do, and checks the order of its events.
func joinedEvents(t *testing.T, list []responseEvent) (items []responseItem) {
	t.Helper()
	var open *responseItem
	text := ""
	scores := 0
	for i, e := range list {
		kind := strings.TrimPrefix(e.Type, "response.")
		if e.OutputIndex != nil && *e.OutputIndex != len(items) {
			t.Errorf("%s of item %d, when %d are done", kind, *e.OutputIndex, len(items))
		}
		inside := e.ItemID != ""
		if inside && (open == nil || e.ItemID != open.ID) {
			t.Fatalf("event %d, %s, is of %q: %+v", i, kind, e.ItemID, open)
		}
		switch {
		case i == 0 && kind != "created", i == 1 && kind != "in_progress":
			t.Errorf("event %d is %s", i, kind)
		case i < 2:
			if e.Response.Status != responses.InProgress || len(e.Response.Output) != 0 ||
				e.Response.Usage != nil {
				t.Errorf("%s: %+v", kind, e.Response)
			}
		case kind == "output_item.added":
			if open != nil || e.Item.Status != responses.InProgress || e.Item.Arguments != "" ||
				len(e.Item.Content) != 0 {
				t.Errorf("an item begins: %+v, after %+v", e.Item, open)
			}
			open, text, scores = e.Item, "", 0
		case kind == "content_part.added":
			if e.Part.Text != "" || text != "" || *e.ContentIndex != 0 {
				t.Errorf("a part begins: %+v", e)
			}
		case strings.HasSuffix(kind, ".delta"):
			text += e.Delta
			scores += len(e.Logprobs)
		case kind == "output_text.done" || kind == "reasoning_text.done":
			if e.Text != text || scores != len(e.Logprobs) {
				t.Errorf("%d tokens of %q are joined, %d of %q whole",
					scores, text, len(e.Logprobs), e.Text)
			}
		case kind == "content_part.done":
			if e.Part.Text != text {
				t.Errorf("%q is joined, %q whole", text, e.Part.Text)
			}
		case kind == "function_call_arguments.done":
			if e.Arguments != text || e.Name != open.Name {
				t.Errorf("%s %s is joined, %s %s whole", open.Name, text, e.Name, e.Arguments)
			}
		case kind == "output_item.done":
			if open == nil || e.Item.ID != open.ID || e.Item.CallID != open.CallID {
				t.Errorf("%+v ends, and %+v is open", e.Item, open)
			}
			items, open = append(items, *e.Item), nil
		case i < len(list)-1:
			t.Errorf("event %d is %s", i, kind)
		}
	}
	return items
}

// checkResponseStream checks that a response in events equals the response in one piece.
func checkResponseStream(t *testing.T, fake *fakeBackend, body, want,
	status string) []responseEvent {
	t.Helper()
	w := postTo(t, New(fake.services(), Options{}), "/v1/responses", "application/json",
		strings.Replace(body, "{", `{"stream":true,`, 1))
	list := readResponseEvents(t, w.Body.String())
	items := joinedEvents(t, list)
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
	if ct := w.Header().Get("Content-Type"); ct != "text/event-stream" || fake.held != 0 {
		t.Errorf("%s, %d models held", ct, fake.held)
	}
	return list
}

// TestResponseEventsComeInDocumentedOrder checks the order of events that OpenAI documents.
func TestResponseEventsComeInDocumentedOrder(t *testing.T) {
	fake := speaking("<think>\nhm\n</think>\n\nhe\n" + goCall)
	list := checkResponseStream(t, fake,
		responseBody(`"input":"x","tools":[{"type":"function","name":"go"}]`),
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
	fake := speaking("hello")
	fake.model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) { yield(engine.Token{}, full) }
	}
	w := postTo(t, New(fake.services(), Options{}), "/v1/responses", "application/json",
		responseBody(`"input":"x","stream":true`))
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" ||
		decodeError(t, w).Code != "queue_full" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	fake.model.Script = func(_ context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			if yield(engine.Token{ID: 'h', Text: "h"}, nil) {
				yield(engine.Token{}, full)
			}
		}
	}
	w = postTo(t, New(fake.services(), Options{}), "/v1/responses", "application/json",
		responseBody(`"input":"x","stream":true`))
	list := readResponseEvents(t, w.Body.String())
	last := list[len(list)-1]
	if last.Type != "response.failed" || last.Response.Status != "failed" ||
		last.Response.Error == nil || last.Response.Error.Message != "The queue is full." ||
		last.Response.Error.Code != "server_error" || last.Response.Store {
		t.Errorf("%s", w.Body)
	}
	if len(fake.kept) != 0 || fake.lastRun().FinishReason != "error" {
		t.Errorf("%d kept, %+v", len(fake.kept), fake.lastRun())
	}
}

// A client that waits is told so in events. A failure after that is an event too.
func TestResponseStreamIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := speaking("hello")
		fake.model.Script = script(func(_ context.Context, yield func(string, error) bool) {
			time.Sleep(3 * time.Second)
			yield("", &engine.Error{Code: engine.CodeQueueFull, Message: "The queue is full."})
		})
		w := newWriter()
		New(fake.services(), Options{}).Endpoint().ServeHTTP(w,
			postOf("/v1/responses", "application/json", responseBody(`"input":"x","stream":true`)))
		if len(w.events) != 2 {
			t.Fatalf("%q", w.events)
		}
		list := readResponseEvents(t, strings.TrimPrefix(w.events[0], "2s: ")+"\n\n"+
			strings.TrimPrefix(w.events[1], "3s: "))
		if len(list) != 3 || list[0].Type != "response.created" ||
			list[2].Type != "response.failed" ||
			*list[2].Response.Error != (responseError{"server_error", "The queue is full."}) {
			t.Errorf("%q", w.events)
		}
	})
}
