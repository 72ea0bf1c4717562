package ollama

import (
	"slices"
	"time"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// An ollamaEmbedRequest is the body of /api/embed, or of the older /api/embeddings, which takes one
// text. Without a text it loads the model.
type ollamaEmbedRequest struct {
	api.Embedding
	name      string // of the model, as the client wrote it
	shortened int    // vectors are cut to as many dimensions if they have more; 0 and less = all
	one       bool   // for the older route

	keepAlive *time.Duration // nil for the time that is set
}

func readOllamaEmbed(f *wire.Fields) (*ollamaEmbedRequest, error) {
	o := &ollamaEmbedRequest{}
	o.Read(f.As(embedRequestShape), "input")
	o.Truncate = api.First(true, wire.ReadOptional(f, "truncate", f.Bool))
	o.shortened = api.First(0, f.Whole("dimensions"))
	return o, f.Err()
}

func readOllamaEmbedding(f *wire.Fields) (*ollamaEmbedRequest, error) {
	o := &ollamaEmbedRequest{one: true}
	o.Truncate = true
	o.Read(f.As(embeddingsRequestShape), "prompt")
	if len(o.Input) > 1 {
		f.Fail("prompt", "must be one text; /api/embed takes several.")
	}
	return o, f.Err()
}

// Read reads the model and the texts.
func (o *ollamaEmbedRequest) Read(f *wire.Fields, key string) {
	o.name = neededModel(f, "model")
	o.Model, o.Field = o.name, key
	if o.Input = f.Strings(key); len(o.Input) == 1 && string(f.Raw(key)) == `""` {
		o.Input = nil
	}
	o.CheckInput(f)
	o.keepAlive = readKeepAlive(f)
}

func (o *ollamaEmbedRequest) Answer(run *api.Run, m model.Model, texts [][]int32) (any, error) {
	vectors := [][]float32{}
	var stats engine.Stats
	if len(texts) > 0 {
		var err error
		vectors, stats, err = m.Reader().Embed(run.Ctx, run.Reading(texts),
			max(0, min(o.shortened, m.Reader().Dimensions())))
		if err != nil {
			return nil, err
		}
	}
	run.Took(stats)
	if o.one {
		return embedding{Embedding: slices.Concat(vectors...), LeftOut: run.Row.LeftOut}, nil
	}
	out := embedded{Model: o.name, Embeddings: []wire.Floats{}, TotalDuration: time.Since(run.Start),
		LoadDuration:    time.Duration(run.Row.LoadMS * float64(time.Millisecond)),
		PromptEvalCount: stats.PromptTokens, LeftOut: run.Row.LeftOut}
	for _, v := range vectors {
		out.Embeddings = append(out.Embeddings, v)
	}
	return out, nil
}
