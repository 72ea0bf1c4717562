package llamacpp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/llamacpp"
	"tandem/app/roomtest"
)

func TestPropsHaveTheContext(t *testing.T) {
	for query, want := range map[string]int{"": 64, "?model=other": 4096, "?model=tandem:latest": 64} {
		r := roomtest.LocalRequest(http.MethodGet, "/props"+query, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		serve(roomtest.NewBackend()).ServeHTTP(w, r)
		var props llamacpp.Props
		if err := json.Unmarshal(w.Body.Bytes(), &props); err != nil ||
			props.Defaults.NCtx != want || props.TotalSlots < 1 {
			t.Errorf("%s: %v %d %s", query, err, w.Code, w.Body)
		}
	}
}

func TestTextIsTokenizedAndBack(t *testing.T) {
	fake := roomtest.NewBackend()
	s := serve(fake)
	for body, want := range map[string]string{
		`{"content":"ab"}`:                                         `[97,98]`,
		`{"content":""}`:                                           `[]`,
		`{"content":"a<pre>"}`:                                     `[97,257]`,
		`{"content":"a<pre>","parse_special":false}`:               `[97,60,112,114,101,62]`,
		`{"content":"a","add_special":true}`:                       `[256,97]`,
		`{"content":"a","add_special":true,"parse_special":false}`: `[256,97]`,
		`{"content":"<bos>ab","add_special":true}`:                 `[256,97,98]`,
		`{"content":"<bos>ab"}`:                                    `[256,97,98]`,
		`{"content":"<bos><bos>ab","add_special":true}`:            `[256,256,97,98]`,
		`{"prompt":"<bos>ab"}`:                                     `[256,97,98]`,
		`{"prompt":"a","model":"tandem"}`:                          `[256,97]`,
		`{"prompt":"a","add_special_tokens":false}`:                `[97]`,
		`{"content":"aé","with_pieces":true}`:                      `[{"id":97,"piece":"a"},{"id":195,"piece":[195]},{"id":169,"piece":[169]}]`,
		`{"content":"` + strings.Repeat("x", 100) + `"}`:           `[` + strings.Repeat("120,", 99) + `120]`,
		`{}`:            "content",
		`{"content":7}`: "content",
		`{"content":"` + strings.Repeat("x", 4<<20+1) + `"}`: "content",
		`{"content":"a","with_pieces":"x"}`:                  "with_pieces",
		`{"model":"nope","content":"a"}`:                     "model",
	} {
		w := roomtest.Post(s, "/tokenize", body)
		var got struct {
			Tokens json.RawMessage
			Count  int
		}
		switch err := json.Unmarshal(w.Body.Bytes(), &got); {
		case want[0] != '[':
			if e := roomtest.DecodeError(t, w); e.Param == nil || *e.Param != want {
				t.Errorf("%.60s: %d %.200s", body, w.Code, w.Body)
			}
		case err != nil || string(got.Tokens) != want:
			t.Errorf("%.60s: %d %.200s, want %s", body, w.Code, w.Body, want)
		}
	}
	for body, want := range map[string]string{
		`{"tokens":[97,98]}`: `{"content":"ab","prompt":"ab"}`, `{"tokens":[]}`: `{"content":"","prompt":""}`,
		`{"tokens":[195,169,195]}`: `{"content":"é�","prompt":"é�"}`,
		`{}`:                       "tokens", `{"tokens":"x"}`: "tokens", `{"tokens":[1e9]}`: "tokens", `{"tokens":[-1]}`: "tokens",
		`{"tokens":[1` + strings.Repeat(",1", 1_000_000) + `]}`: "tokens",
	} {
		w := roomtest.Post(s, "/detokenize", body)
		if want[0] == '{' {
			if w.Body.String() != want {
				t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
			}
		} else if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Param == nil || *e.Param != want {
			t.Errorf("%.60s: %d %s", body, w.Code, w.Body)
		}
	}
	if fake.Held != 0 || s.API.BytesTaken() != 0 || len(fake.Rows) != 0 {
		t.Errorf("%d models are held, %d bytes, %d runs", fake.Held, s.API.BytesTaken(),
			len(fake.Rows))
	}
}

// The line of the cursor continues what is before it. Texts of other files come first.
func TestInfillFillsTheGapAtTheCursor(t *testing.T) {
	for body, want := range map[string]string{
		`{"input_prefix":"A","input_suffix":"Z"}`:                "<pre>A<suf>Z<mid>",
		`{"input_prefix":"A\n","prompt":"b","input_suffix":"Z"}`: "<pre>A\nb<suf>Z<mid>",
		`{"input_prefix":"A"}`:                                   "<pre>A<suf><mid>",
		`{"input_prefix":"A","input_extra":[{"filename":"f","text":"T"},{"text":"U"}],"input_suffix":"<pre>"}`:      "<pre>T\n\nU\n\nA<suf><pre><mid>",
		`{"model":"acme/coder","input_prefix":"A","samplers":["top_k"],"t_max_predict_ms":500,"cache_prompt":true}`: "<pre>A<suf><mid>",
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/infill", body)
		var got struct {
			Content, Model string
			StopType       string `json:"stop_type"`
			Stop           bool
			Tokens         []int32
			Predicted      int `json:"tokens_predicted"`
		}
		err := json.Unmarshal(w.Body.Bytes(), &got)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if got.Content != "héllo wörld" {
			t.Errorf(`%s: got.Content = %q, want "héllo wörld"`, body, got.Content)
		}
		if !got.Stop {
			t.Errorf("%s: got.Stop = false, want true", body)
		}
		if got.StopType != "eos" {
			t.Errorf(`%s: got.StopType = %q, want "eos"`, body, got.StopType)
		}
		if len(got.Tokens) != got.Predicted {
			t.Errorf("%s: len(got.Tokens) = %v, want %v", body, len(got.Tokens), got.Predicted)
		}
		if len(fake.Model.Requests) != 1 ||
			!strings.HasSuffix(fake.Model.Decode(fake.Model.Requests[0].Prompt), want) {
			t.Errorf("%s: %+v, want %s", body, fake.Model.Requests, want)
		}
	}
	// A stream gives the same text, and ends with the figures.
	fake := roomtest.NewBackend()
	w := roomtest.Post(serve(fake), "/infill", `{"input_prefix":"A","stream":true,"stop":["ö"]}`)
	text, ends, kind := "", []bool{}, ""
	for event := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n\n") {
		var e struct {
			Content  string
			Stop     bool
			StopType string `json:"stop_type"`
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &e); err != nil {
			t.Fatalf("%v: %q", err, event)
		}
		text, ends, kind = text+e.Content, append(ends, e.Stop), e.StopType
	}
	if text != "héllo w" || slices.Index(ends, true) != len(ends)-1 || kind != "word" {
		t.Errorf("%q %v %s", text, ends, kind)
	}
	if r := fake.LastRun(); r.Endpoint != "/infill" || fake.Held != 0 {
		t.Errorf("%+v, %d held", r, fake.Held)
	}
}

// A provider for llama.cpp reads content and stop, whole or from events.
func TestCompletionContinuesAsLlamaCppDoes(t *testing.T) {
	for body, want := range map[string]string{
		`{"prompt":"ab","n_predict":100,"stream":false,"temperature":0,"stop":["ö"]}`: "<bos>ab",
		`{"prompt":[97,98],"stream":true,"stop":["ö"],"model":"acme/coder"}`:          "ab",
	} {
		fake := roomtest.NewBackend()
		w := roomtest.Post(serve(fake), "/completion", body)
		text, stop := "", false
		for event := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n\n") {
			var e struct {
				Content string
				Stop    *bool
			}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &e); err != nil ||
				e.Stop == nil || stop {
				t.Fatalf("%s: %v: %q", body, err, event)
			}
			text, stop = text+e.Content, *e.Stop
		}
		if text != "héllo w" || !stop || fake.LastRun().Endpoint != "/completion" {
			t.Errorf("%s: %q, stop %t: %+v", body, text, stop, fake.LastRun())
		}
		if got := fake.Model.Decode(fake.Model.Requests[0].Prompt); got != want {
			t.Errorf("%s: the prompt is %q, want %q", body, got, want)
		}
	}
	for _, body := range []string{`{}`, `{"prompt":7}`, `{"prompt":["x"]}`, `{"prompt":[]}`} {
		w := roomtest.Post(serve(roomtest.NewBackend()), "/completion", body)
		if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Param == nil || *e.Param != "prompt" {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestMaxTokensIsNPredictByAnotherName(t *testing.T) {
	for path, body := range map[string]string{"/infill": `"input_prefix":"A"`,
		"/completion": `"prompt":"A"`} {
		for limit, want := range map[string]int{`"max_tokens":2`: 2, `"n_predict":3`: 3,
			`"n_predict":3,"max_tokens":2`: 3, `"n_predict":-1,"max_tokens":2`: 2} {
			fake := roomtest.NewBackend()
			roomtest.Post(serve(fake), path, "{"+body+","+limit+"}")
			if got := fake.Model.Requests; len(got) != 1 || *got[0].MaxTokens != want {
				t.Errorf("%s with %s: %+v, want %d tokens", path, limit, got, want)
			}
		}
	}
}
