package openai_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
	"tandem/engine"
)

// TestEmbeddingsTakeAllInputForms: the four forms of an input reach the model as its tokens. Token
// ids arrive unchanged. The vectors come back in order, as numbers and as bytes.
func TestEmbeddingsTakeAllInputForms(t *testing.T) {
	text := func(s string) (ids []int32) {
		ids = []int32{256}
		for _, b := range []byte(s) {
			ids = append(ids, int32(b))
		}
		return ids
	}
	for _, c := range []struct {
		input string
		want  [][]int32
	}{
		{`"ab"`, [][]int32{text("ab")}},
		{`["ab","c"]`, [][]int32{text("ab"), text("c")}},
		{`[7,260]`, [][]int32{{7, 260}}},
		{`[[7],[8,9]]`, [][]int32{{7}, {8, 9}}},
	} {
		for _, format := range []string{``, `,"encoding_format":"float"`,
			`,"encoding_format":"base64","user":"me"`, `,"dimensions":2`} {
			fake := roomtest.NewBackendOf(control.KindEmbedding)
			w := roomtest.Post(serve(fake), "/v1/embeddings",
				`{"model":"tandem","input":`+c.input+format+`}`)
			var got struct {
				Object, Model string
				Data          []struct {
					Object    string
					Index     int
					Embedding json.RawMessage
				}
				Usage struct {
					Prompt int `json:"prompt_tokens"`
					Total  int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
				t.Fatalf("%s%s: %d %s", c.input, format, w.Code, w.Body)
			}
			if !slices.EqualFunc(fake.Model.ReadTexts, c.want, slices.Equal) {
				t.Errorf("%s: the model read %v, want %v", c.input, fake.Model.ReadTexts, c.want)
			}
			if got.Object != "list" || got.Model != "acme/coder" || len(got.Data) != len(c.want) {
				t.Fatalf("%s%s: %s", c.input, format, w.Body)
			}
			tokens := 0
			for i, d := range got.Data {
				ids := c.want[i]
				tokens += len(ids)
				want := []float32{float32(len(ids)), float32(ids[0]), float32(ids[len(ids)-1]),
					1.0 / 3}
				if strings.Contains(format, "dimensions") {
					want = want[:2]
				}
				if v := vector(t, d.Embedding); d.Object != "embedding" || d.Index != i ||
					!slices.Equal(v, want) {
					t.Errorf("%s%s: item %d is %+v with %v, want %v",
						c.input, format, i, d, v, want)
				}
				if isText := d.Embedding[0] == '"'; isText != strings.Contains(format, "base64") {
					t.Errorf("%s%s: an embedding is %s", c.input, format, d.Embedding)
				}
			}
			if got.Usage.Prompt != tokens || got.Usage.Total != tokens {
				t.Errorf("%s: usage %+v, want %d tokens", c.input, got.Usage, tokens)
			}
			r := fake.LastRun()
			if r.Endpoint != "/v1/embeddings" {
				t.Errorf(`%s: r.Endpoint = %q, want "/v1/embeddings"`, c.input, r.Endpoint)
			}
			if r.Model != "acme/coder" {
				t.Errorf(`%s: r.Model = %q, want "acme/coder"`, c.input, r.Model)
			}
			if r.PromptTokens != tokens {
				t.Errorf("%s: r.PromptTokens = %v, want %v", c.input, r.PromptTokens, tokens)
			}
			if r.CompletionTokens != 0 {
				t.Errorf("%s: r.CompletionTokens = %v, want 0", c.input, r.CompletionTokens)
			}
			if r.FinishReason != "stop" {
				t.Errorf(`%s: r.FinishReason = %q, want "stop"`, c.input, r.FinishReason)
			}
			if r.Error != "" {
				t.Errorf(`%s: r.Error = %q, want ""`, c.input, r.Error)
			}
			if r.PrefillMS != 2 {
				t.Errorf("%s: r.PrefillMS = %v, want 2", c.input, r.PrefillMS)
			}
			if fake.Held != 0 {
				t.Errorf("%s: %d models are held", c.input, fake.Held)
			}
		}
	}
}

// vector reads an embedding in either form.
func vector(t *testing.T, v json.RawMessage) (out []float32) {
	t.Helper()
	if v[0] == '[' {
		if err := json.Unmarshal(v, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var text string
	if err := json.Unmarshal(v, &text); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%4 != 0 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	for b := range slices.Chunk(raw, 4) {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return out
}

// Each mistake gets one answer that names the field. It leaves a row in the history, and no model
// is held.
func TestBadEmbeddingOrRerankIsRefused(t *testing.T) {
	embed := func(fields string) string { return `{"model":"tandem",` + fields + `}` }
	rank := func(fields string) string { return `{"model":"tandem","query":"q",` + fields + `}` }
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		kind, body, param, says string
	}{
		{control.KindEmbedding, embed(`"input":null`), "input", "null"},
		{control.KindEmbedding, embed(`"input":7`), "input", "list"},
		{control.KindEmbedding, embed(`"input":{}`), "input", "list"},
		{control.KindEmbedding, embed(`"input":[]`), "input", "not empty"},
		{control.KindEmbedding, embed(`"input":""`), "input", "is empty"},
		{control.KindEmbedding, embed(`"input":["a",""]`), "input[1]", "is empty"},
		{control.KindEmbedding, embed(`"input":["a",7]`), "input", "list of strings"},
		{control.KindEmbedding, embed(`"input":[[]]`), "input", "is empty"},
		{control.KindEmbedding, embed(`"input":[[1],[]]`), "input[1]", "is empty"},
		{control.KindEmbedding, embed(`"input":[1,"a"]`), "input", "token ids"},
		{control.KindEmbedding, embed(`"input":[[1],7]`), "input[1]", "token ids"},
		{control.KindEmbedding, embed(`"input":[261]`), "input", "below 261"},
		{control.KindEmbedding, embed(`"input":[-1]`), "input", "below 261"},
		{control.KindEmbedding, embed(`"input":[1e99]`), "input", "token ids"},
		{control.KindEmbedding, embed(`"input":["x"` + strings.Repeat(`,"x"`, 2048) + `]`), "input", "2049 texts; 2048 are allowed"},
		{control.KindEmbedding, embed(`"input":["a","` + long + `"]`), "input[1]", "64 tokens. However, you requested 65 tokens"},
		{control.KindEmbedding, embed(`"input":"` + strings.Repeat(long, 10) + `"`), "input", "64 tokens. However, you requested at least 128 tokens"},
		{control.KindEmbedding, embed(`"input":[` + strings.Repeat("1,", 64) + `1]`), "input", "64 tokens. However, you requested 65 tokens"},
		{control.KindEmbedding, embed(`"input":"slow!"`), "", "too long"},
		{control.KindEmbedding, embed(`"input":"x","encoding_format":"int8"`), "encoding_format", "must be float or base64"},
		{control.KindEmbedding, embed(`"input":"x","encoding_format":7`), "encoding_format", "string"},
		{control.KindEmbedding, embed(`"input":"x","dimensions":0`), "dimensions", "at least 1"},
		{control.KindEmbedding, embed(`"input":"x","dimensions":5`), "dimensions", "embeddings of acme/coder have 4"},
		{control.KindEmbedding, embed(`"input":"x","dimensions":1.5`), "dimensions", "whole"},

		{control.KindReranker, `{"model":"tandem","documents":["a"]}`, "query", "missing"},
		{control.KindReranker, `{"model":"tandem","query":"","documents":["a"]}`, "query", "empty"},
		{control.KindReranker, rank(`"top_n":1`), "documents", "at least one"},
		{control.KindReranker, rank(`"documents":[]`), "documents", "at least one"},
		{control.KindReranker, rank(`"documents":"a"`), "documents", "list"},
		{control.KindReranker, rank(`"documents":["a",7]`), "documents[1]", "text"},
		{control.KindReranker, rank(`"documents":["a",null]`), "documents[1]", "text"},
		{control.KindReranker, rank(`"documents":["a",""]`), "documents[1]", "not empty"},
		{control.KindReranker, rank(`"documents":[{"title":"a"}]`), "documents[0]", "by the name of text"},
		{control.KindReranker, rank(`"documents":[{"text":7}]`), "documents[0].text", "string"},
		{control.KindReranker, rank(`"documents":[{"text":"a","text":"b"}]`), "documents[0]", "twice"},
		{control.KindReranker, rank(`"documents":["x"` + strings.Repeat(`,"x"`, 2048) + `]`), "documents", "2049 documents; 2048 are allowed"},
		{control.KindReranker, rank(`"documents":["a","` + long + `"]`), "documents[1]", "64 tokens. However, you requested 67 tokens"},
		{control.KindReranker, rank(`"documents":["slow!"]`), "", "too long"},
		{control.KindReranker, rank(`"documents":["a"],"top_n":0`), "top_n", "at least 1"},
		{control.KindReranker, rank(`"documents":["a"],"return_documents":1`), "return_documents", "true or false"},
		{control.KindReranker, rank(`"documents":["a"],"instruction":[]`), "instruction", "string"},
	} {
		path := "/v1/embeddings"
		if c.kind == control.KindReranker {
			path = "/v1/rerank"
		}
		fake := roomtest.NewBackendOf(c.kind)
		s := serve(fake)
		w := roomtest.Post(s, path, c.body)
		if w.Code != 400 {
			t.Errorf("%.90s: status %d %s", c.body, w.Code, w.Body)
			continue
		}
		e := roomtest.DecodeError(t, w)
		param := ""
		if e.Param != nil {
			param = *e.Param
		}
		if param != c.param || !strings.Contains(e.Message, c.says) {
			t.Errorf("%.90s: param %q (want %q), message %q (want %q)",
				c.body, param, c.param, e.Message, c.says)
		}
		if r := fake.LastRun(); r.Error != strings.TrimSuffix(e.Code+": "+param, ": ") ||
			r.FinishReason != "error" || r.Endpoint != path {
			t.Errorf("%.90s: the history has %+v", c.body, r)
		}
		if fake.Held != 0 || len(s.API.Active()) != 0 {
			t.Errorf("%.90s: %d models held, %d runs in flight", c.body, fake.Held, len(s.API.Active()))
		}
	}
}

// Each kind of model answers its own routes. It refuses the others and says why.
func TestModelKindAnswersItsOwnRoutes(t *testing.T) {
	bodies := map[string]string{
		"/v1/chat/completions": `{"model":"tandem","messages":[{"role":"user","content":"x"}]}`,
		"/v1/completions":      `{"model":"tandem","prompt":"x"}`,
		"/v1/embeddings":       `{"model":"tandem","input":"x"}`,
		"/v1/rerank":           `{"model":"tandem","query":"x","documents":["y"]}`,
		"/api/v0/embeddings":   `{"model":"tandem","input":"x"}`,
	}
	refused := map[string]map[string]string{
		"": {"/v1/embeddings": "generates text", "/api/v0/embeddings": "generates text",
			"/v1/rerank": "generates text"},
		control.KindEmbedding: {"/v1/chat/completions": "generates no text",
			"/v1/completions": "generates no text", "/v1/rerank": "makes embeddings"},
		control.KindReranker: {"/v1/embeddings": "is a reranker", "/api/v0/embeddings": "is a reranker"},
	}
	for kind, no := range refused {
		for path, body := range bodies {
			fake := roomtest.NewBackendOf(kind)
			w := roomtest.Post(serve(fake), path, body)
			if no[path] == "" {
				if w.Code != 200 {
					t.Errorf("kind %q, %s: %d %s", kind, path, w.Code, w.Body)
				}
				continue
			}
			if e := roomtest.DecodeError(t, w); w.Code != 400 || e.Param == nil || *e.Param != "model" ||
				!strings.Contains(e.Message, no[path]) {
				t.Errorf("kind %q, %s: %d %+v, want %q", kind, path, w.Code, e, no[path])
			}
			if fake.Held != 0 {
				t.Errorf("kind %q, %s: the model is held", kind, path)
			}
		}
	}
}

// A full queue may have room later, so it tells the client to try again. A client that leaves and a
// cancelled run stop the work. The history distinguishes them.
func TestReadingErrorsAreToldApart(t *testing.T) {
	const body = `{"model":"tandem","input":"x"}`
	fake := roomtest.NewBackendOf(control.KindEmbedding)
	fake.Model.OnRead = func(context.Context) error {
		return &engine.Error{Code: engine.CodeQueueFull, Message: "the queue is full"}
	}
	if w := roomtest.Post(serve(fake), "/v1/embeddings",
		body); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("a full queue: %d %s", w.Code, w.Body)
	}
	for name, stop := range map[string]func(s *roomtest.Served, leave context.CancelFunc){
		"left": func(_ *roomtest.Served, leave context.CancelFunc) { leave() },
		"cancelled": func(s *roomtest.Served,
			_ context.CancelFunc) {
			s.API.CancelRun(fmt.Sprint(s.API.Active()[0].RunID))
		},
		"closed": func(s *roomtest.Served, _ context.CancelFunc) { s.Close() },
	} {
		fake := roomtest.NewBackendOf(control.KindEmbedding)
		s := serve(fake)
		began := make(chan int, 1)
		fake.Model.OnRead = func(ctx context.Context) error {
			began <- s.API.Active()[0].PromptDone
			<-ctx.Done()
			return ctx.Err()
		}
		ctx, leave := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.ServeHTTP(w, roomtest.Request("/v1/embeddings", body).WithContext(ctx))
		}()
		if n := <-began; n != 2 {
			t.Errorf("%s: the state has %d tokens as read, want 2", name, n)
		}
		stop(s, leave)
		<-done
		leave()
		status, finish := 499, control.FinishCancel
		if name == "closed" {
			status, finish = 503, control.FinishError
		}
		if r := fake.LastRun(); w.Code != status || r.FinishReason != finish || fake.Held != 0 {
			t.Errorf("%s: %d, %d models held, the history has %+v", name, w.Code, fake.Held, r)
		}
	}
}

func FuzzEmbeddingsRequest(f *testing.F) {
	f.Add(`{"model":"tandem","input":["a","b"],"encoding_format":"base64","dimensions":2}`)
	f.Add(`{"model":"tandem","input":[[1,2],[3]],"user":"me"}`)
	f.Add(`{"model":"tandem","input":[null]}`)
	fuzzReading(f, control.KindEmbedding, "/v1/embeddings")
}

func FuzzRerankRequest(f *testing.F) {
	f.Add(`{"model":"tandem","query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true}`)
	f.Add(`{"model":"tandem","query":"q","documents":[[],null,{}]}`)
	fuzzReading(f, control.KindReranker, "/v1/rerank")
}

// fuzzReading checks that no body makes the server panic or fail with a 5xx of its own. The server
// holds nothing afterwards, and answers in JSON.
func fuzzReading(f *testing.F, kind, path string) {
	f.Fuzz(func(t *testing.T, body string) {
		fake := roomtest.NewBackendOf(kind)
		s := serve(fake)
		w := roomtest.Post(s, path, body)
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if r := fake.LastRun(); fake.Held != 0 || len(s.API.Active()) != 0 || r.FinishReason == "" {
			t.Fatalf("%d models held, %d in flight, row %+v", fake.Held, len(s.API.Active()), r)
		}
	})
}
