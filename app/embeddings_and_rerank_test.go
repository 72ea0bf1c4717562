package app

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// embedded posts a request for embeddings with the given fields. It reads both forms, floats and
// base64, and returns the vectors and the count of prompt tokens.
func (r *running) embedded(t *testing.T, fields string) (vectors [][]float32, tokens int) {
	t.Helper()
	a := r.Send("/v1/embeddings", `{"model":"embedder",`+fields+`}`)
	var got struct {
		Data []struct {
			Index     int
			Embedding json.RawMessage
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %+v", fields, a)
	}
	for i, d := range got.Data {
		var v []float32
		var text string
		if json.Unmarshal(d.Embedding, &v) != nil {
			if err := json.Unmarshal(d.Embedding, &text); err != nil {
				t.Fatal(err)
			}
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			for b := range slices.Chunk(raw, 4) {
				v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
			}
		}
		if d.Index != i {
			t.Errorf("%s: item %d has index %d", fields, i, d.Index)
		}
		vectors = append(vectors, v)
	}
	return vectors, got.Usage.Prompt
}

// A client adds an embedder and a reranker and uses both.
//   - Texts become vectors of length 1 in either form.
//   - Documents are sorted by score.
//   - Each model refuses the routes that it is not for.
//   - Every request leaves a run.
func TestEmbedderAndRerankerServeTheirOwnRoutesAlone(t *testing.T) {
	r := start(t, Options{Model: writeModel(t, "talker")}, "127.0.0.1:0")
	for id, dir := range map[string]string{"embedder": enginetest.TinyEmbedder(t),
		"reranker": enginetest.TinyReranker(t)} {
		if _, err := r.library.AddModel(t.Context(),
			control.AddRequest{Path: dir, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := r.library.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want := map[string]string{"embedder": control.KindEmbedding,
			"reranker": control.KindReranker}[row.ID]
		if row.Kind != want {
			t.Errorf("%s is listed as %q, want %q", row.ID, row.Kind, want)
		}
	}

	floats, tokens := r.embedded(t, `"input":["abc","a much longer text","abc"]`)
	if tokens != 4+19+4 || len(floats) != 3 || len(floats[0]) != 64 ||
		slices.Equal(floats[0], floats[1]) {
		t.Errorf("%d tokens, %d vectors of %d numbers, want 27, 3 and 64, not all alike", tokens, len(floats), len(floats[0]))
	}
	enginetest.WantNear(t, "the same text again", floats[2], floats[0])
	sum := 0.0
	for _, x := range floats[1] {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Errorf("a vector has length %g, want 1", math.Sqrt(sum))
	}
	if bytes, _ := r.embedded(t,
		`"input":["abc","a much longer text","abc"],"encoding_format":"base64"`); !slices.EqualFunc(bytes,
		floats, slices.Equal) {
		t.Error("the vectors in base64 and in floats differ")
	}
	// The tokenizer adds the end token to a text. A client that sends ids adds it itself.
	if ids, tokens := r.embedded(t, `"input":[97,98,99,256]`); tokens != 4 || len(ids) != 1 {
		t.Errorf("from ids: %d tokens, %d vectors, want 4 and 1", tokens, len(ids))
	} else {
		enginetest.WantNear(t, "the same text as ids", ids[0], floats[0])
	}
	if short, _ := r.embedded(t, `"input":"abc","dimensions":8`); len(short) != 1 ||
		len(short[0]) != 8 {
		t.Errorf("with 8 dimensions the vectors are %v", short)
	}

	a := r.Send("/v1/rerank", `{"model":"reranker","query":"who?","documents":["one","two","three","four"],"top_n":3,"return_documents":true}`)
	var ranked struct {
		Results []struct {
			Index    int
			Score    float64 `json:"relevance_score"`
			Document struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(a.body), &ranked); err != nil || a.status != http.StatusOK ||
		len(ranked.Results) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, x := range ranked.Results {
		if !(x.Score > 0 && x.Score < 1) || i > 0 && x.Score >= ranked.Results[i-1].Score ||
			x.Document.Text != []string{"one", "two", "three", "four"}[x.Index] {
			t.Errorf("result %d is wrong or out of order: %s", i, a.body)
		}
	}

	for _, c := range []struct{ path, body, says string }{
		{"/v1/embeddings", `{"model":"talker","input":"abc"}`, "talker generates text"},
		{"/v1/embeddings", `{"model":"tandem","input":"abc"}`, "talker generates text"},
		{"/v1/rerank", `{"model":"talker","query":"a","documents":["b"]}`, "talker generates text"},
		{"/v1/chat/completions", `{"model":"embedder","messages":[{"role":"user","content":"hi"}]}`, "makes embeddings"},
		{"/v1/completions", `{"model":"embedder","prompt":"hi"}`, "makes embeddings"},
		{"/v1/embeddings", `{"model":"embedder","input":"` + strings.Repeat("x", 5000) + `"}`, "4096 tokens"},
	} {
		a := r.Send(c.path, c.body)
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, c.says) {
			t.Errorf("%s %.60s: %+v", c.path, c.body, a)
		}
	}
	// A reranker answers completions too.
	if status, body := r.complete(t, "reranker", "abc"); status != http.StatusOK {
		t.Errorf("a completion by the reranker: %d %s", status, body)
	}
	await(t, r.client(t), func(s control.State) bool { return len(s.Active) == 0 })
	runs, err := r.history.Runs(t.Context(), control.RunQuery{})
	if err != nil || len(runs) != 12 {
		t.Fatalf("%d runs, %v, want 12", len(runs), err)
	}
	first := runs[len(runs)-1]
	if first.Endpoint != "/v1/embeddings" {
		t.Errorf(`first.Endpoint = %q, want "/v1/embeddings"`, first.Endpoint)
	}
	if first.Model != "embedder" {
		t.Errorf(`first.Model = %q, want "embedder"`, first.Model)
	}
	if first.PromptTokens != 27 {
		t.Errorf("first.PromptTokens = %v, want 27", first.PromptTokens)
	}
	if first.CompletionTokens != 0 {
		t.Errorf("first.CompletionTokens = %v, want 0", first.CompletionTokens)
	}
	if first.FinishReason != "stop" {
		t.Errorf(`first.FinishReason = %q, want "stop"`, first.FinishReason)
	}
	if first.PrefillMS <= 0 {
		t.Errorf("first.PrefillMS = %v, want more than 0", first.PrefillMS)
	}
}
