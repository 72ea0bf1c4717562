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
		w := roomtest.Post(serve(fake), "/v1/rerank",
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
		if r := fake.LastRun(); r.Endpoint != "/v1/rerank" || r.PromptTokens != tokens ||
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
