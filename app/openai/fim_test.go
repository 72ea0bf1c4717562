package openai_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/app/wire"
)

// Mistral's route makes the prompt that the model needs from the requests that editors send.
func TestFIMPromptFitsEditorsRequests(t *testing.T) {
	const filled = "256 257 97 98 258 99 259" // <bos><pre>ab<suf>c<mid>
	for _, c := range []struct{ body, prompt, err string }{
		{`"prompt":"ab","suffix":"c"`, filled, ""},
		{`"prompt":"ab","suffix":"c","max_tokens":5,"min_tokens":0,"stop":["\n\n"],"temperature":0.7,"top_p":1,"random_seed":7`, filled, ""},
		{`"prompt":"ab","suffix":""`, "256 257 97 98 258 259", ""},
		{`"prompt":"ab"`, "256 97 98", ""},
		{`"prompt":"ab","suffix":null`, "256 97 98", ""},
		{`"prompt":[97],"suffix":"c"`, "", "suffix"},
		{`"prompt":"ab","suffix":"c","echo":true`, "", "echo"},
		{`"suffix":"c"`, "", "prompt"},
		{`"prompt":"ab","suffix":"c","random_seed":"x"`, "", "random_seed"},
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/v1/fim/completions", `{"model":"tandem",`+c.body+`}`)
		if c.err != "" {
			if e := roomtest.DecodeError(t, w); w.Code != http.StatusBadRequest || e.Param == nil ||
				*e.Param != c.err {
				t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
			}
			continue
		}
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
			continue
		}
		var ids []string
		for _, id := range fake.Model.Requests[0].Prompt {
			ids = append(ids, json.Number(string(wire.MustJSON(id))).String())
		}
		if got := strings.Join(ids, " "); got != c.prompt {
			t.Errorf("%s: prompt %s, want %s", c.body, got, c.prompt)
		}
		// The memory of texts gets what stands before a gap, in place of the prompt.
		var before []int32
		if strings.HasPrefix(c.prompt, "256 257") {
			before = []int32{97, 98}
		}
		if got := fake.Model.Requests[0].Before; !slices.Equal(got, before) {
			t.Errorf("%s: %v before the gap, want %v", c.body, got, before)
		}
		if strings.Contains(c.body, "random_seed") && *fake.Model.Requests[0].Seed != 7 {
			t.Errorf("seed %d", *fake.Model.Requests[0].Seed)
		}
		if r := fake.LastRun(); r.Endpoint != "/v1/fim/completions" {
			t.Errorf("the history has %+v", r)
		}
	}
}

// The text is in the place of /v1/completions, and again where Mistral's programs read it.
func TestFIMAnswerServesBothForms(t *testing.T) {
	const body = `{"model":"tandem","prompt":"ab","suffix":"c","max_tokens":6`
	type answer struct {
		Choices []struct {
			Text           string
			Message, Delta struct{ Content string }
			FinishReason   *string `json:"finish_reason"`
		}
	}
	var whole answer
	w := roomtest.Post(serve(roomtest.NewBackend()), "/v1/fim/completions", body+`}`)
	if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || len(whole.Choices) != 1 {
		t.Fatal(err, w.Body)
	}
	if c := whole.Choices[0]; c.Text != "héllo" || c.Message.Content != c.Text ||
		*c.FinishReason != "length" {
		t.Errorf("%s", w.Body)
	}
	var texts, deltas []string
	w = roomtest.Post(serve(roomtest.NewBackend()), "/v1/fim/completions", body+`,"stream":true}`)
	for data, err := range control.Events(w.Body) {
		if err != nil || string(data) == "[DONE]" {
			continue
		}
		var chunk answer
		if err := json.Unmarshal(data, &chunk); err != nil || len(chunk.Choices) != 1 ||
			!strings.Contains(string(data), `"delta":{"content":`) {
			t.Fatalf("%v %s", err, data)
		}
		texts, deltas = append(texts, chunk.Choices[0].Text),
			append(deltas, chunk.Choices[0].Delta.Content)
	}
	if strings.Join(texts, "") != "héllo" || !slices.Equal(texts, deltas) {
		t.Errorf("texts %q, deltas %q", texts, deltas)
	}
}
