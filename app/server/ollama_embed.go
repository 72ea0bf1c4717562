package server

import (
	"fmt"
	"math"
	"time"

	"tandem/app/model"
)

// An ollamaEmbedRequest is the body of /api/embed, or of the older /api/embeddings,
// which takes one text. Unlike Ollama we never cut a text that is too long: its
// vector would be that of another.
type ollamaEmbedRequest struct {
	embedding
	name string // of the model, as asked for
	one  bool   // the older route
}

func readOllamaEmbed(f *fields) (readRequest, error) {
	o := &ollamaEmbedRequest{}
	o.read(f, "input")
	if n := f.int("dimensions", 1, math.MaxInt32); n != nil {
		o.dimensions = *n
	}
	return o, f.err
}

func readOllamaEmbedding(f *fields) (readRequest, error) {
	o := &ollamaEmbedRequest{one: true}
	o.read(f, "prompt")
	if len(o.input) > 1 {
		f.fail("prompt", "must be one text; /api/embed takes several.")
	}
	return o, f.err
}

// read reads the model and the texts.
func (o *ollamaEmbedRequest) read(f *fields, key string) {
	o.name = modelOf(f)
	o.model, o.field = ollamaID(o.name), key
	if o.input = f.strings(key); len(o.input) == 0 {
		f.fail(key, "is missing; send some text.")
	}
	o.checkInput(f)
}

// answer implements readRequest.
func (o *ollamaEmbedRequest) answer(run *run, m model.Model, texts [][]int32) ([]byte, error) {
	vectors, stats, err := m.Reader().Embed(run.ctx, run.reading(texts), o.dimensions)
	if err != nil {
		return nil, err
	}
	run.took(stats)
	if o.one {
		return append(appendFloats([]byte(`{"embedding":`), vectors[0]), '}'), nil
	}
	b := appendString([]byte(`{"model":`), o.name)
	b = append(b, `,"embeddings":[`...)
	for i, v := range vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloats(b, v)
	}
	load := time.Duration(run.row.LoadMS * float64(time.Millisecond))
	return fmt.Appendf(b, `],"total_duration":%d,"load_duration":%d,"prompt_eval_count":%d}`, time.Since(run.start), load, stats.PromptTokens), nil
}
