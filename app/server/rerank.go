package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tandem/app/control"
	"tandem/app/model"
)

// A rerankRequest is the body of /v1/rerank, in the form that Jina and Cohere share.
// instruction is vLLM's: what makes a document relevant, where it is not that it
// answers the query.
type rerankRequest struct {
	model       string
	query       string
	instruction string
	documents   []string
	top         int // 0 = all
	returned    bool
}

func readRerank(f *fields) (readRequest, error) {
	r := &rerankRequest{model: modelOf(f), query: f.string("query"), instruction: f.string("instruction"), returned: f.bool("return_documents")}
	if r.query == "" {
		f.fail("query", "is missing or empty; say what is looked for.")
	}
	if n := f.int("top_n", 1, math.MaxInt32); n != nil {
		r.top = *n
	}
	r.readDocuments(f)
	return r, f.err
}

// readDocuments takes texts and objects that hold one.
func (r *rerankRequest) readDocuments(f *fields) {
	var list []json.RawMessage
	v := f.raw("documents")
	if v == nil || json.Unmarshal(v, &list) != nil || len(list) == 0 {
		f.fail("documents", "must be a list of at least one text, or object with a text.")
		return
	}
	if n := len(list); n > maxTexts {
		f.fail("documents", "holds %d documents; %d are allowed in one request.", n, maxTexts)
		return
	}
	for i, v := range list {
		text, param := "", fmt.Sprintf("documents[%d]", i)
		switch v[0] {
		case '"':
			if json.Unmarshal(v, &text) != nil {
				f.fail(param, "must be a string.")
			}
		case '{':
			o, err := parseFields(v, param+".")
			if err != nil {
				f.take(&fields{err: err})
				return
			}
			text = o.string("text")
			f.take(o)
		}
		if text == "" {
			f.fail(param, "must be a text that is not empty, or an object that holds one by the name of text.")
			return
		}
		r.documents = append(r.documents, text)
	}
}

func (r *rerankRequest) modelName() string { return r.model }

// texts implements readRequest.
func (r *rerankRequest) texts(in *intake) error {
	m := in.model
	if err := checkKind(m, control.KindReranker, "documents are ranked by models such as Qwen3-Reranker"); err != nil {
		return err
	}
	for i, document := range r.documents {
		param := fmt.Sprintf("documents[%d]", i)
		if err := checkLength(m, param, len(r.instruction)+len(r.query)+len(document)); err != nil {
			return err
		}
		ids, err := m.Reader().RerankPrompt(r.instruction, r.query, document)
		if err := in.add(param, ids, err); err != nil {
			return err
		}
	}
	return nil
}

// answer implements readRequest.
func (r *rerankRequest) answer(run *run, m model.Model, texts [][]int32) ([]byte, error) {
	scores, stats, err := m.Reader().Relevance(run.ctx, run.reading(texts))
	if err != nil {
		return nil, err
	}
	run.took(stats)
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	if r.top > 0 {
		order = order[:min(r.top, len(order))]
	}
	b := appendString([]byte(`{"object":"list","id":`), newID("rerank-"))
	b = appendString(append(b, `,"model":`...), m.ID())
	b = append(b, `,"results":[`...)
	for i, at := range order {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"index":%d,"relevance_score":`, at)
		b = strconv.AppendFloat(b, scores[at], 'g', -1, 64)
		if r.returned {
			b = appendString(append(b, `,"document":{"text":`...), r.documents[at])
			b = append(b, '}')
		}
		b = append(b, '}')
	}
	return append(appendReadUsage(append(b, ']'), stats), '}'), nil
}
