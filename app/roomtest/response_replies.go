package roomtest

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"tandem/app/responses"
)

// A ResponseEvent is an event of a stream.
type ResponseEvent struct {
	Type         string
	Number       int `json:"sequence_number"`
	Response     *Response
	Item         *ResponseItem
	Part         *struct{ Type, Text string }
	ItemID       string `json:"item_id"`
	OutputIndex  *int   `json:"output_index"`
	ContentIndex *int   `json:"content_index"`
	Delta, Text  string
	Arguments    string
	Name         string
	Logprobs     []struct{ Token string }
}

// ReadResponseEvents reads a stream, and checks what every event must have.
func ReadResponseEvents(t *testing.T, stream string) (list []ResponseEvent) {
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
		var e ResponseEvent
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

// JoinItems joins the items of a stream as clients do, and checks the order of its events.
func JoinItems(t *testing.T, list []ResponseEvent) (items []ResponseItem) {
	t.Helper()
	var open *ResponseItem
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

// A ResponseItem is an item of a response.
type ResponseItem struct {
	ID, Type, Status, Role, Name, Namespace, Arguments string
	CallID                                             string `json:"call_id"`
	Content                                            []struct {
		Type, Text string
		Logprobs   []struct{ Token string }
	}
}

// A Response is the object of a response.
type Response struct {
	ID, Object, Status, Model string
	Error                     *ResponseError
	IncompleteDetails         *struct{ Reason string } `json:"incomplete_details"`
	Output                    []ResponseItem
	Usage                     *responses.ResponseUsage
	Store                     bool
	Previous                  *string `json:"previous_response_id"`
	Tools                     []json.RawMessage
	Metadata                  map[string]string
}

// A ResponseError is why a response failed.
type ResponseError struct{ Code, Message string }
