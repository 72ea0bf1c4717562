package ollama

import (
	"time"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
)

// An ollamaEmbedRequest is the body of /api/embed, or of the older /api/embeddings, which takes one
// text. Unlike Ollama, Tandem refuses a text that is too long and does not cut it.
type ollamaEmbedRequest struct {
	api.Embedding
	name string // of the model, as the client wrote it
	one  bool   // for the older route
}

func readOllamaEmbed(f *wire.Fields) (api.ReadRequest, error) {
	o := &ollamaEmbedRequest{}
	o.Read(f.As(embedRequestShape), "input")
	if n := f.Whole("dimensions"); n != nil {
		o.Dimensions = *n
	}
	return o, f.Err()
}

func readOllamaEmbedding(f *wire.Fields) (api.ReadRequest, error) {
	o := &ollamaEmbedRequest{one: true}
	o.Read(f.As(embeddingsRequestShape), "prompt")
	if len(o.Input) > 1 {
		f.Fail("prompt", "must be one text; /api/embed takes several.")
	}
	return o, f.Err()
}

// Read reads the model and the texts.
func (o *ollamaEmbedRequest) Read(f *wire.Fields, key string) {
	o.name = api.ModelOf(f)
	o.Model, o.Field = o.name, key
	if o.Input = f.Strings(key); len(o.Input) == 0 {
		f.Fail(key, "is missing; send some text.")
	}
	o.CheckInput(f)
}

func (o *ollamaEmbedRequest) Answer(run *api.Run, m model.Model, texts [][]int32) (any, error) {
	vectors, stats, err := m.Reader().Embed(run.Ctx, run.Reading(texts), o.Dimensions)
	if err != nil {
		return nil, err
	}
	run.Took(stats)
	if o.one {
		return embedding{Embedding: vectors[0]}, nil
	}
	out := embedded{Model: o.name, TotalDuration: time.Since(run.Start),
		LoadDuration:    time.Duration(run.Row.LoadMS * float64(time.Millisecond)),
		PromptEvalCount: stats.PromptTokens}
	for _, v := range vectors {
		out.Embeddings = append(out.Embeddings, v)
	}
	return out, nil
}
