package openai_test

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

func FuzzChatRequest(f *testing.F) {
	seedBodies(f, "chat/completions")
	f.Add(`{"model":"tandem","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}}],"function_call":{}}],"tools":[{"a":1}],"functions":[1],"chat_template_kwargs":{"a":[]}}`)
	f.Add(`{"model":"tandem","messages":[{"role":"user","content":[{"type":"text","text":"\ud800"}]}],"seed":-1,"logit_bias":{"1":2}}`)
	f.Add(roomtest.ChatBody(roomtest.TwoTools, `"tool_choice":"required"`, `"n":2`, `"stream":true`))
	f.Add(roomtest.ChatBody(roomtest.TwoTools, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"function":{"name":"go"}}]}}`,
		`"reasoning":{"effort":"low","max_tokens":0}`))
	f.Add(roomtest.ChatBody(`"functions":[{"name":"f"}],"function_call":{"name":"f"},"reasoning_effort":"none","chat_template_kwargs":{ }`))
	roomtest.FuzzBody(f, serve, "/v1/chat/completions")
}

func FuzzCompletionRequest(f *testing.F) {
	seedBodies(f, "completions")
	f.Add(`{"model":"tandem","prompt":[[1,2],[3]],"echo":true,"logprobs":2,"n":3,"stop":["a"],"seed":1,"stream":true}`)
	roomtest.FuzzBody(f, serve, "/v1/completions")
}
