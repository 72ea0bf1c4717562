package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// A rerankRequest is the body of /v1/rerank, which Jina and Cohere share, and of Cohere's /v2/rerank.
// vLLM's instruction says what makes a document relevant; by default a relevant document answers the
// query.
type rerankRequest struct {
	model       string
	query       string
	instruction string
	documents   []string
	top         int // documents to return; 0 = all
	longest     int // tokens of a document, which is cut to them; 0 = any number
	returned    bool
}

// cohereLongest is max_tokens_per_doc where a request to /v2/rerank has none.
const cohereLongest = 4096

// readRerank returns what reads a body. longest is max_tokens_per_doc where the body has none.
func readRerank(longest int) func(*wire.Fields) (api.ReadRequest, error) {
	return func(f *wire.Fields) (api.ReadRequest, error) {
		f.As(rerankRequestShape)
		r := &rerankRequest{
			model: f.String("model"), query: f.String("query"), instruction: f.String("instruction"),
			returned: f.Bool("return_documents"),
		}
		if r.query == "" {
			f.Fail("query", "is missing or empty; say what is looked for.")
		}
		r.top = api.First(0, f.Whole("top_n"))
		r.longest = api.First(longest, f.Whole("max_tokens_per_doc"))
		r.readDocuments(f)
		return r, f.Err()
	}
}

// readDocuments reads texts, and objects that hold one.
func (r *rerankRequest) readDocuments(f *wire.Fields) {
	list, n := wire.FirstValues(f.Raw("documents"), api.MaxTexts)
	if n <= 0 {
		f.Fail("documents", "must be a list of at least one text, or object with a text.")
		return
	}
	if n > api.MaxTexts {
		f.Fail("documents", "holds %d documents; %d are allowed in one request.", n, api.MaxTexts)
		return
	}
	for i, v := range list {
		text, param := "", fmt.Sprintf("documents[%d]", i)
		switch v[0] {
		case '"':
			if json.Unmarshal(v, &text) != nil {
				f.Fail(param, "must be a string.")
			}
		case '{':
			if o := f.Item("documents", i, v); o != nil {
				text = o.String("text")
			}
		}
		if text == "" {
			f.Fail(param,
				"must be a text that is not empty, or an object that holds one by the name of "+
					"text.")
			return
		}
		r.documents = append(r.documents, text)
	}
}

func (r *rerankRequest) ModelName() string { return r.model }

func (r *rerankRequest) Texts(in *api.Intake) error {
	m := in.Model
	if err := api.CheckKind(m, control.KindReranker,
		"documents are ranked by models such as Qwen3-Reranker"); err != nil {
		return err
	}
	room := r.longest
	if room > 0 {
		if err := api.CheckLength(m, "query", len(r.instruction)+len(r.query)); err != nil {
			return err
		}
		around, err := m.Reader().RerankPrompt(r.instruction, r.query, "")
		if err != nil {
			return err
		}
		room = min(room, m.ContextLength()-len(around))
	}
	for i, document := range r.documents {
		param := fmt.Sprintf("documents[%d]", i)
		if room > 0 {
			var err error
			if document, err = firstTokens(m, document, room); err != nil {
				return err
			}
			if document != r.documents[i] {
				in.NoteCut()
			}
		}
		if err := api.CheckLength(m, param,
			len(r.instruction)+len(r.query)+len(document)); err != nil {
			return err
		}
		ids, err := m.Reader().RerankPrompt(r.instruction, r.query, document)
		if err := in.Add(param, ids, err); err != nil {
			return err
		}
	}
	return nil
}

// firstTokens returns the beginning of a text, of at most n tokens.
func firstTokens(m model.Model, text string, n int) (string, error) {
	text = api.Beginning(m, text, n)
	ids, err := m.Tokenizer().EncodePlain(text)
	if err != nil || len(ids) <= n {
		return text, err
	}
	return strings.ToValidUTF8(m.Tokenizer().Decode(ids[:n]), ""), nil
}

func (r *rerankRequest) Answer(run *api.Run, m model.Model, texts [][]int32) (any, error) {
	scores, stats, err := m.Reader().Relevance(run.Ctx, run.Reading(texts))
	if err != nil {
		return nil, err
	}
	run.Took(stats)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	if r.top > 0 {
		order = order[:min(r.top, len(order))]
	}
	out := ranking{Object: "list", ID: wire.NewID("rerank-"), Model: m.ID(), Results: []ranked{},
		Usage: api.ReadUsageOf(stats), LeftOut: run.Row.LeftOut}
	for _, at := range order {
		one := ranked{Index: at, Score: scores[at]}
		if r.returned {
			one.Document = &rankedDocument{r.documents[at]}
		}
		out.Results = append(out.Results, one)
	}
	return out, nil
}

// A ranking is the answer of /v1/rerank, the most relevant document first.
type ranking struct {
	_       struct{}      `schema:"Ranked"`
	Object  string        `json:"object" enum:"list"`
	ID      string        `json:"id"`
	Model   string        `json:"model"`
	Results []ranked      `json:"results"`
	Usage   api.ReadUsage `json:"usage"`
	LeftOut string        `json:"left_out,omitempty" doc:"How many texts lost their ends."`
}

type ranked struct {
	Index    int             `json:"index" doc:"Of the document."`
	Score    float64         `json:"relevance_score"`
	Document *rankedDocument `json:"document,omitempty"`
}

type rankedDocument struct {
	Text string `json:"text"`
}
