package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/roomtest"
)

// The documents that answer best come first, with their original indexes. Documents of equal score
// keep their order.
func TestRerankSortsByScore(t *testing.T) {
	const documents = `["bb",{"text":"dddd","id":7},"a","cc"]`
	for _, c := range []struct {
		fields string
		order  []int
		texts  []string
	}{
		{``, []int{1, 0, 3, 2}, nil},
		{`,"top_n":2`, []int{1, 0}, nil},
		{`,"top_n":9,"return_documents":false`, []int{1, 0, 3, 2}, nil},
		{`,"top_n":1,"return_documents":true`, []int{1}, []string{"dddd"}},
		{`,"instruction":"find","return_documents":true`, []int{1, 0, 3, 2}, []string{"dddd", "bb", "cc", "a"}},
	} {
		fake := roomtest.NewBackendOf(control.KindReranker)
		path := []string{"/v1/rerank", "/v2/rerank"}[len(c.fields)%2]
		w := roomtest.Post(serve(fake), path,
			`{"model":"tandem","query":"q?","documents":`+documents+c.fields+`}`)
		var got struct {
			ID, Object, Model string
			Results           []struct {
				Index    int
				Score    float64 `json:"relevance_score"`
				Document *struct{ Text string }
			}
			Usage struct {
				Prompt int `json:"prompt_tokens"`
				Total  int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", c.fields, w.Code, w.Body)
		}
		var order []int
		for i, r := range got.Results {
			order = append(order, r.Index)
			if want := 1 - 1/float64(len(fake.Model.ReadTexts[r.Index])); r.Score != want {
				t.Errorf("%s: document %d has %v, want %v", c.fields, r.Index, r.Score, want)
			}
			if text := r.Document; (text != nil) != (c.texts != nil) || text != nil &&
				text.Text != c.texts[i] {
				t.Errorf("%s: document %d comes as %+v", c.fields, r.Index, text)
			}
		}
		if fmt.Sprint(order) != fmt.Sprint(c.order) || got.Object != "list" ||
			!strings.HasPrefix(got.ID, "rerank-") || got.Model != "acme/coder" {
			t.Errorf("%s: %s", c.fields, w.Body)
		}
		instruction := ""
		if strings.Contains(c.fields, "instruction") {
			instruction = "find"
		}
		tokens := 0
		for i, text := range []string{"bb", "dddd", "a", "cc"} {
			want := instruction + "|q?|" + text
			tokens += len(want)
			if read := fake.Model.Decode(fake.Model.ReadTexts[i]); read != want {
				t.Errorf("%s: the model read %q, want %q", c.fields, read, want)
			}
		}
		if got.Usage.Prompt != tokens || got.Usage.Total != tokens {
			t.Errorf("%s: usage %+v, want %d", c.fields, got.Usage, tokens)
		}
		if r := fake.LastRun(); r.Endpoint != path || r.PromptTokens != tokens ||
			r.FinishReason != "stop" {
			t.Errorf("%s: the history has %+v", c.fields, r)
		}
	}
}

// TestRerankInputIsBounded: the total text of a request is bounded, and a query counts with each
// document. Tokenizing stops when the client leaves.
func TestRerankInputIsBounded(t *testing.T) {
	fake := roomtest.NewBackendOf(control.KindReranker)
	fake.Model.Context = 8 << 20
	query := strings.Repeat("q", api.MaxReadTokens/2)
	w := roomtest.Post(serve(fake), "/v1/rerank",
		`{"model":"tandem","query":"`+query+`","documents":["a","b","c"]}`)
	if e := roomtest.DecodeError(t, w); w.Code != 400 || *e.Param != "documents[1]" ||
		!strings.Contains(e.Message, "4194304 are allowed") {
		t.Errorf("%d %+v", w.Code, e)
	}
}

// TestRerankCutsDocuments: max_tokens_per_doc cuts documents, and so does /v2/rerank by itself: to 4,096
// tokens and to what the context leaves. A token is a byte here.
func TestRerankCutsDocuments(t *testing.T) {
	long := strings.Repeat("x", 4000) + "é" + strings.Repeat("x", 4000)
	for _, c := range []struct {
		path, fields  string
		context, want int // tokens of the document; 0 = refused
	}{
		{"/v1/rerank", ``, 1 << 20, len(long)},
		{"/v1/rerank", ``, 4096, 0},
		{"/v1/rerank", `,"max_tokens_per_doc":10`, 4096, 10},
		{"/v1/rerank", `,"max_tokens_per_doc":9999`, 1 << 20, len(long)},
		{"/v1/rerank", `,"max_tokens_per_doc":4001`, 1 << 20, 4000}, // in the middle of é
		{"/v2/rerank", ``, 1 << 20, 4096},
		{"/v2/rerank", ``, 64, 64 - len("|q?|")},
		{"/v2/rerank", `,"instruction":"find"`, 64, 64 - len("find|q?|")},
		{"/v2/rerank", `,"max_tokens_per_doc":7`, 64, 7},
		{"/v2/rerank", `,"max_tokens_per_doc":5000`, 1 << 20, 5000},
	} {
		fake := roomtest.NewBackendOf(control.KindReranker)
		fake.Model.Context = c.context
		w := roomtest.Post(serve(fake), c.path, `{"query":"q?","documents":["`+long+`","a"]`+c.fields+`}`)
		if c.want == 0 {
			if e := roomtest.DecodeError(t, w); w.Code != 400 || *e.Param != "documents[0]" {
				t.Errorf("%s%s: %d %s", c.path, c.fields, w.Code, w.Body)
			}
			continue
		}
		if w.Code != 200 {
			t.Errorf("%s%s: %d %s", c.path, c.fields, w.Code, w.Body)
			continue
		}
		_, read, _ := strings.Cut(fake.Model.Decode(fake.Model.ReadTexts[0]), "|q?|")
		if read != long[:c.want] || !strings.HasSuffix(fake.Model.Decode(fake.Model.ReadTexts[1]), "|q?|a") {
			t.Errorf("%s%s with a context of %d: %d bytes are read, want %d", c.path, c.fields, c.context, len(read), c.want)
		}
		if told := fake.LastRun().LeftOut; (told == "the ends of 1 of 2 texts") != (c.want < len(long)) || told != "" && c.want == len(long) {
			t.Errorf("%s%s with a context of %d: the run says %q", c.path, c.fields, c.context, told)
		} else if strings.Contains(w.Body.String(), `"left_out":"`+told+`"`) != (told != "") {
			t.Errorf("%s%s with a context of %d: %q is left out of %s", c.path, c.fields, c.context, told, w.Body)
		}
	}
	w := roomtest.Post(serve(roomtest.NewBackendOf(control.KindReranker)), "/v2/rerank",
		`{"query":"`+strings.Repeat("q", 64)+`","documents":["a"]}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "context length") {
		t.Errorf("a query without room for a document: %d %s", w.Code, w.Body)
	}
}
