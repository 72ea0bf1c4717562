package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/responses"
	"tandem/app/roomtest"
	"tandem/app/wire"
	"tandem/engine"
)

// as sends a request to a route with a key, or without one if key is empty.
func as(t *testing.T, s *roomtest.Served, key, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := roomtest.Request(path, body)
	r.Method = method
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// A program calls its tool and gets the answer to the result. It may send the conversation again,
// or name the response that it continues.
func TestResponseContinuesAfterToolResult(t *testing.T) {
	const tools = `"tools":[{"type":"function","name":"look"},{"type":"function","name":"go"}],"instructions":"Be brief."`
	var prompts []string
	for _, stored := range []bool{false, true} {
		fake := roomtest.Speaking("<think>\nhm\n</think>\n\n" + roomtest.LookCall)
		s := serve(fake)
		first := respond(t, s, roomtest.ResponseBody(tools, `"input":"find it"`,
			fmt.Sprintf(`"store":%t`, stored)))
		if first.Store != stored || len(fake.KeptResponses) != map[bool]int{true: 1}[stored] {
			t.Fatalf("%+v, %d kept", first, len(fake.KeptResponses))
		}
		var whole struct{ Output []json.RawMessage }
		if stored {
			if err := json.Unmarshal(fake.KeptResponses[0].Output, &whole.Output); err != nil {
				t.Fatal(err)
			}
		}
		call := first.Output[len(first.Output)-1]
		result := fmt.Sprintf(`{"type":"function_call_output","call_id":"%s","output":"there"}`,
			call.CallID)
		fake.Model.Output = "found"
		input := `"previous_response_id":"` + first.ID + `","input":[` + result + `]`
		if !stored {
			input = fmt.Sprintf(`"store":false,"input":[{"role":"user","content":"find it"},
				{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
				{"type":"function_call","call_id":%q,"name":"look","arguments":%q},%s]`,
				call.CallID, call.Arguments, result)
		}
		second := respond(t, s, roomtest.ResponseBody(tools, input))
		if short(second.Output) != "message completed output_text \"found\"\n" {
			t.Errorf("%+v", second.Output)
		}
		if stored && (second.Previous == nil || *second.Previous != first.ID) {
			t.Errorf("it goes on from %v", second.Previous)
		}
		vars := fake.Model.Vars[len(fake.Model.Vars)-1]
		prompts = append(prompts, strings.ReplaceAll(vars,
			strings.TrimPrefix(call.CallID, api.CallPrefix), "ID"))
	}
	if prompts[0] != prompts[1] || !strings.Contains(prompts[0], `"tool_calls":[{"id":"ID"`) ||
		!strings.Contains(prompts[0], `"reasoning_content":"hm"`) {
		t.Errorf("sent again:\n%s\ngone on from:\n%s", prompts[0], prompts[1])
	}
}

// Earlier input and output stand before the new input, in order. Earlier instructions do not.
func TestResponseChainKeepsConversation(t *testing.T) {
	fake := roomtest.Speaking("one")
	s := serve(fake)
	a := respond(t, s, roomtest.ResponseBody(`"input":"A","instructions":"Be brief."`))
	fake.Model.Output = "two"
	b := respond(t, s, roomtest.ResponseBody(`"input":[{"role":"developer","content":"D"},{"role":"user","content":"B"}],"instructions":"Be long.","previous_response_id":"`+a.ID+`"`))
	// A response without store may continue a stored one.
	c := respond(t, s, roomtest.ResponseBody(`"input":"C","store":false,"previous_response_id":"`+b.ID+`"`))
	last := func() string { return fake.Model.Decode(fake.Model.Requests[len(fake.Model.Requests)-1].Prompt) }
	if got, want := last(), "uA\naone\nsD\nuB\natwo\nuC\n"; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
	if c.Store || len(fake.KeptResponses) != 2 {
		t.Errorf("%d are kept, %+v", len(fake.KeptResponses), c)
	}
	// A second response continues the first.
	respond(t, s, roomtest.ResponseBody(`"input":"E","previous_response_id":"`+a.ID+`"`))
	if got, want := last(), "uA\naone\nuE\n"; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}

	// Items may be references.
	respond(t, s, roomtest.ResponseBody(fmt.Sprintf(`"input":[{"role":"user","content":"A"},{"type":"item_reference","id":%q},{"id":%q},{"role":"user","content":"F"}]`,
		a.Output[0].ID, b.Output[0].ID)))
	if got, want := last(), "uA\naone\natwo\nuF\n"; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
	// The stored input has the referenced items themselves.
	if k := fake.KeptResponses[len(fake.KeptResponses)-1]; strings.Contains(string(k.Input), "item_reference") ||
		!strings.Contains(string(k.Input), `"one"`) {
		t.Errorf("%s", k.Input)
	}
	for _, id := range []string{"msg_1", "msg_" + strings.Repeat("A", responses.RandomID) + "0",
		a.Output[0].ID + "9", c.Output[0].ID} {
		w := roomtest.Post(s, "/v1/responses",
			roomtest.ResponseBody(`"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"`+id+`"}]`))
		if e := roomtest.DecodeError(t, w); w.Code != 404 || e.Code != "item_not_found" ||
			*e.Param != "input[1].id" {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
	}
	for _, id := range []string{c.ID, "resp_x", "x"} {
		w := roomtest.Post(s, "/v1/responses",
			roomtest.ResponseBody(`"input":"x","previous_response_id":"`+id+`"`))
		if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Code != "previous_response_not_found" ||
			*e.Param != "previous_response_id" ||
			!strings.HasPrefix(e.Message, "Previous response with id '"+id+"' not found") {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
	}
}

// TestStoredResponseIsReadAndDeleted: a stored response can be read with its input, and deleted.
func TestStoredResponseIsReadAndDeleted(t *testing.T) {
	fake := roomtest.Speaking("one")
	s := serve(fake)
	w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(`"input":["?"]`))
	roomtest.DecodeError(t, w)
	w = roomtest.Post(s, "/v1/responses",
		roomtest.ResponseBody(`"input":[{"role":"user","content":"A"},{"id":"mine","role":"assistant","content":"B"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]`))
	var r roomtest.Response
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	path := "/v1/responses/" + r.ID
	if got := as(t, s, "", http.MethodGet, path, ""); got.Code != 200 ||
		got.Body.String() != w.Body.String() ||
		got.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s\nwas %s", got.Code, got.Body, w.Body)
	}
	for _, path := range []string{path + "?stream=true", path + "/input_items?limit=0", path +
		"/input_items?limit=101", path + "/input_items?order=up", path + "/input_items?after=x"} {
		if got := as(t, s, "", http.MethodGet, path, ""); got.Code != 400 ||
			roomtest.DecodeError(t, got).Param == nil {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	for _, body := range []string{"", "{}"} {
		if got := as(t, s, "", http.MethodPost, path+"/cancel", body); got.Code != 400 ||
			!strings.Contains(roomtest.DecodeError(t, got).Message, "in the background") {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}

	var seen []string
	for query := "?order=asc&limit=3"; query != ""; {
		got := as(t, s, "", http.MethodGet, path+"/input_items"+query, "")
		var list struct {
			responses.ItemList
			Data []roomtest.ResponseItem `json:"data"`
		}
		if err := json.Unmarshal(got.Body.Bytes(), &list); err != nil || list.Object != "list" ||
			list.FirstID != list.Data[0].ID {
			t.Fatalf("%s %v", got.Body, err)
		}
		for _, x := range list.Data {
			seen = append(seen, strings.TrimSpace(short([]roomtest.ResponseItem{x})))
			if id, ok := responses.ResponseOf(x.ID); x.ID != "mine" && (!ok || id != r.ID) ||
				x.ID == r.Output[0].ID {
				t.Errorf("an item's id is %s", x.ID)
			}
		}
		if query = ""; list.HasMore {
			query = "?order=asc&limit=3&after=" + list.LastID
		}
	}
	if got, want := strings.Join(seen, "|"),
		`message  input_text "A"|message  output_text "B"|function_call   f {}|function_call_output`; got != want {
		t.Errorf("the items are %s, want %s", got, want)
	}
	got := as(t, s, "", http.MethodGet, path+"/input_items", "")
	if !strings.HasPrefix(got.Body.String(), `{"object":"list","data":[{"id":"fco_`) {
		t.Errorf("the last comes first: %s", got.Body)
	}

	if got := as(t, s, "", http.MethodDelete, path, ""); got.Code != 200 ||
		got.Body.String() != `{"deleted":true,"id":"`+r.ID+`","object":"response"}` {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	gone(t, s, "", r.ID)
}

// A client's own members may be named like those of our errors.
func TestStoredResponseIsReadToTheLastByte(t *testing.T) {
	s := serve(roomtest.Speaking("one"))
	long := strings.Repeat("x", 3*wire.MaxErrorText)
	metadata := strings.Repeat("\U0001F600", responses.MaxMetadataValue)
	w := roomtest.Post(s, "/v1/responses", roomtest.ResponseBody(
		`"metadata":{"message":"`+metadata+`"},"input":[{"role":"user","content":"A"},`+
			`{"type":"function_call","call_id":"c","name":"f","arguments":{"reason":"`+long+`"}},`+
			`{"type":"function_call_output","call_id":"c","output":"x"}]`))
	var r roomtest.Response
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	path := "/v1/responses/" + r.ID
	if got := as(t, s, "", http.MethodGet, path, ""); got.Body.String() != w.Body.String() ||
		!strings.Contains(w.Body.String(), metadata) {
		t.Errorf("%s\nwas %s", got.Body, w.Body)
	}
	if got := as(t, s, "", http.MethodGet, path+"/input_items", ""); !strings.Contains(
		got.Body.String(), long) {
		t.Errorf("the arguments of a call are abridged: %s", got.Body)
	}
}

// gone checks that a program finds no such response.
func gone(t *testing.T, s *roomtest.Served, key, id string) {
	t.Helper()
	for _, e := range []struct{ method, path string }{{http.MethodGet, ""}, {http.MethodDelete, ""},
		{http.MethodGet, "/input_items"}, {http.MethodPost, "/cancel"}} {
		w := as(t, s, key, e.method, "/v1/responses/"+id+e.path, "")
		if w.Code != 404 || roomtest.DecodeError(t, w).Message != "Response with id '"+id+"' not found." {
			t.Errorf("%s %s: %d %s", e.method, e.path, w.Code, w.Body)
		}
	}
	w := as(t, s, key, http.MethodPost, "/v1/responses",
		roomtest.ResponseBody(`"input":"x","previous_response_id":"`+id+`"`))
	if w.Code != 400 || roomtest.DecodeError(t, w).Code != "previous_response_not_found" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A response is visible to the key that created it. No other key sees it, and no request without a
// key.
func TestResponseBelongsToItsKey(t *testing.T) {
	fake := roomtest.Speaking("one")
	fake.Keyed = true
	s := serve(fake)
	ask := func(key string) (r roomtest.Response) {
		t.Helper()
		w := as(t, s, key, http.MethodPost, "/v1/responses", roomtest.ResponseBody(`"input":"A"`))
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return r
	}
	mine, open := ask(roomtest.Key), ask("")
	if w := as(t, s, roomtest.Key, http.MethodGet, "/v1/responses/"+mine.ID, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := as(t, s, "whatever", http.MethodGet, "/v1/responses/"+open.ID, ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	gone(t, s, "", mine.ID)
	gone(t, s, roomtest.Key, open.ID)
	w := as(t, s, "", http.MethodPost, "/v1/responses",
		roomtest.ResponseBody(`"input":[{"type":"item_reference","id":"`+mine.Output[0].ID+`"}]`))
	if w.Code != 404 {
		t.Errorf("another's item: %d %s", w.Code, w.Body)
	}
}

// A response that cannot be stored says so, and is still answered.
func TestResponseNotKeptIsStillAnswered(t *testing.T) {
	fake := roomtest.Speaking("one")
	fake.ResponsesRefused = true
	if r := respond(t, serve(fake), roomtest.ResponseBody(`"input":"A"`)); r.Store ||
		len(fake.KeptResponses) != 0 {
		t.Errorf("the response says that it is kept: %+v", r)
	}
	fake.ResponsesRefused, fake.ResponsesBroken = false, true
	if r := respond(t, serve(fake), roomtest.ResponseBody(`"input":"A"`)); r.Store ||
		short(r.Output) != "message completed output_text \"one\"\n" {
		t.Errorf("%+v", r)
	}
	list := checkResponseStream(t, fake, roomtest.ResponseBody(`"input":"A"`),
		"message completed output_text \"one\"\n", responses.Completed)
	if list[len(list)-1].Response.Store {
		t.Error("the last event says that the response is kept")
	}
}

// TestRecalledResponseIsLimited: a recalled conversation is limited like a request.
func TestRecalledResponseIsLimited(t *testing.T) {
	fake := roomtest.Speaking("one")
	s := serve(fake)
	a := respond(t, s, roomtest.ResponseBody(`"input":"A"`))
	fake.KeptResponses[0].Output = wire.MustJSON([]any{map[string]any{"id": a.Output[0].ID,
		"role": "assistant", "content": strings.Repeat("x", 1<<20)}})
	reference := `{"id":"` + a.Output[0].ID + `"},`
	w := roomtest.Post(s, "/v1/responses",
		roomtest.ResponseBody(`"input":[`+strings.Repeat(reference, 32)+`{"role":"user","content":"x"}]`))
	// the response itself counts, too
	if e := roomtest.DecodeError(t, w); w.Code != 413 || *e.Param != "input[30].id" {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
	// A large conversation takes a place among large bodies, and gives it back.
	if s.API.BytesTaken() != 0 {
		t.Errorf("%d bytes are held", s.API.BytesTaken())
	}
	for i := range 5 { // the last one is another client's
		if err := s.API.Grow(&wire.Reservation{Client: fmt.Sprint(i)}, wire.OthersBytes); err != nil {
			t.Fatal(err)
		}
	}
	w = roomtest.Post(s, "/v1/responses",
		roomtest.ResponseBody(`"input":"x","previous_response_id":"`+a.ID+`"`))
	if e := roomtest.DecodeError(t, w); w.Code != 503 || e.Code != string(engine.CodeQueueFull) {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
}

// An answer that was cut off by the program's end is completed in the form of a chat. The stored
// request is enough for that.
func TestCutOffResponseIsResumedAsChat(t *testing.T) {
	fake := roomtest.Speaking("one")
	s := serve(fake)
	a := respond(t, s, roomtest.ResponseBody(`"input":"A"`))
	kept := respond(t, s, roomtest.ResponseBody(`"input":"B","previous_response_id":"`+a.ID+`"`))
	for _, c := range []struct{ fields, want string }{
		{`"input":"C"`, "uC\n"},
		{`"input":[{"id":"` + kept.Output[0].ID + `"},{"role":"user","content":"C"}]`, "aone\nuC\n"},
		{`"input":"C","previous_response_id":"` + kept.ID + `"`, "uA\naone\nuB\naone\nuC\n"},
	} {
		respond(t, s, roomtest.ResponseBody(c.fields, `"seed":1`))
		run := fake.LastRun().ID
		if fake.Texts[run].Request != nil {
			t.Errorf("at its end %s is kept", fake.Texts[run].Request)
		}
		// A crash leaves the text of the run in the state of a run in flight.
		cut := fake.Texts[run]
		cut.Request = fake.Asked[run]
		fake.Texts[run] = cut
		stored := fake.KeptResponses
		fake.KeptResponses = nil
		w := roomtest.Post(s, fmt.Sprintf("/app/runs/%d/resume", run), "{}")
		var reply roomtest.ChatReply
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || w.Code != 200 ||
			roomtest.Value(reply.Choices[0].Message.Content) != "one" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		last := fake.Model.Requests[len(fake.Model.Requests)-1]
		if got := fake.Model.Decode(last.Prompt); got != c.want || *last.Seed != 1 {
			t.Errorf("the prompt is %q, want %q", got, c.want)
		}
		if fake.LastRun().Resumes != run || len(fake.KeptResponses) != 0 {
			t.Errorf("%+v, %d kept", fake.LastRun(), len(fake.KeptResponses))
		}
		fake.KeptResponses = stored
	}
}

// The length of a conversation counts its messages. It does not count the tools and instructions
// that each response repeats.
func TestResponseChainIsCountedOnce(t *testing.T) {
	fake := roomtest.Speaking("one")
	response := wire.MustJSON(map[string]any{"tools": strings.Repeat("t", 1<<20)})
	previous := ""
	for i := range 40 {
		k := control.KeptResponse{ID: fmt.Sprintf("resp_%026d", i), Previous: previous,
			Input: json.RawMessage(`[{"type":"message","role":"user","content":"A"}]`)}
		if err := responses.KeepAnswer(&k, response); err != nil {
			t.Fatal(err)
		}
		fake.KeptResponses, previous = append(fake.KeptResponses, k), k.ID
	}
	if r := respond(t, serve(fake),
		roomtest.ResponseBody(`"input":"x","previous_response_id":"`+previous+`"`)); short(r.Output) != "message completed output_text \"one\"\n" {
		t.Errorf("%+v", r)
	}
}
