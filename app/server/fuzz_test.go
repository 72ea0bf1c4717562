package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/app/roomtest"
)

// seedBodies adds the bodies of the transcripts.
func seedBodies(f *testing.F, path string) {
	files, _ := filepath.Glob("testdata/*.http")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for exchange := range strings.SplitSeq(string(b), "\n== ") {
			request, _, _ := strings.Cut(exchange, "\n--\n")
			head, body, _ := strings.Cut(request, "\n\n")
			if strings.Contains(head, path) && body != "" {
				f.Add(body)
			}
		}
	}
}

// fuzzBody checks that no body makes the server panic or fail through its own fault. The server
// holds nothing afterwards, and a template always gets JSON.
func fuzzBody(f *testing.F, path string) {
	f.Fuzz(func(t *testing.T, body string) {
		fake := roomtest.NewBackend()
		fake.Model.TemplateSource = roomtest.Dialect
		s := New(services(fake), Options{})
		w := roomtest.Post(s.Endpoint(), path, body)
		switch {
		case w.Code == 200:
		case w.Code >= 400 && w.Code < 500:
			roomtest.DecodeError(t, w)
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), `"internal"`) && w.Code == 200 {
			t.Fatalf("an error of our own in the stream: %s", w.Body)
		}
		if r := fake.LastRun(); fake.Held != 0 || len(s.api.Active()) != 0 || r.FinishReason == "" {
			t.Fatalf("%d models held, %d in flight, row %+v", fake.Held, len(s.api.Active()), r)
		}
	})
}

func FuzzChatRequest(f *testing.F) {
	seedBodies(f, "chat/completions")
	f.Add(`{"model":"tandem","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}],"function_call":{}}],"tools":[{"a":1}],"functions":[1],"chat_template_kwargs":{"a":[]}}`)
	f.Add(`{"model":"tandem","messages":[{"role":"user","content":[{"type":"text","text":"\ud800"}]}],"seed":-1,"logit_bias":{"1":2}}`)
	f.Add(roomtest.ChatBody(roomtest.TwoTools, `"tool_choice":"required"`, `"n":2`, `"stream":true`))
	f.Add(roomtest.ChatBody(roomtest.TwoTools, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"function":{"name":"go"}}]}}`,
		`"reasoning":{"effort":"low","max_tokens":0}`))
	f.Add(roomtest.ChatBody(`"functions":[{"name":"f"}],"function_call":{"name":"f"},"reasoning_effort":"none","chat_template_kwargs":{ }`))
	fuzzBody(f, "/v1/chat/completions")
}

func FuzzCompletionRequest(f *testing.F) {
	seedBodies(f, "completions")
	f.Add(`{"model":"tandem","prompt":[[1,2],[3]],"echo":true,"logprobs":2,"n":3,"stop":["a"],"seed":1,"stream":true}`)
	fuzzBody(f, "/v1/completions")
}

func FuzzResponseRequest(f *testing.F) {
	f.Add(`{"model":"tandem","input":"x","store":false,"stream":true,"text":{"format":{"type":"json_object"}}}`)
	f.Add(`{"model":"tandem","input":[{"role":"user","content":[{"type":"input_text","text":"\ud800"}]},{"type":"reasoning","summary":[],"content":null},{"type":"function_call","call_id":"call_123456789","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"call_123456789","output":[{"type":"text","text":""}]}],"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},{"type":"function","name":"f","parameters":{}}],"tool_choice":"required"}`)
	f.Add(`{"model":"tandem","input":[{"id":"msg_ABCDEFGHIJKLMNOPQRSTUVWXYZ0"}],"previous_response_id":"resp_x","metadata":{"a":"b"},"include":["message.output_text.logprobs"],"top_logprobs":2}`)
	fuzzBody(f, "/v1/responses")
}
