package openai

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"tandem/app/api"
	"tandem/app/model"
	"tandem/app/wire"
)

// An embeddingsRequest is the body of /v1/embeddings.
type embeddingsRequest struct {
	api.Embedding
	base64 bool
}

func readEmbeddings(f *wire.Fields) (api.ReadRequest, error) {
	f.As(embeddingsRequestShape)
	e := &embeddingsRequest{Embedding: api.Embedding{Model: f.String("model"), Field: "input"}}
	e.base64 = f.Word("encoding_format") == "base64"
	if n := f.Whole("dimensions"); n != nil {
		e.Dimensions = *n
	}
	e.Input, e.Tokens = readTexts(f, "input")
	e.CheckInput(f)
	return e, f.Err()
}

func (e *embeddingsRequest) Answer(run *api.Run, m model.Model, texts [][]int32) (any, error) {
	vectors, stats, err := m.Reader().Embed(run.Ctx, run.Reading(texts), e.Dimensions)
	if err != nil {
		return nil, err
	}
	run.Took(stats)
	out := embeddings{Object: "list", Model: m.ID(), Usage: api.ReadUsageOf(stats)}
	for i, v := range vectors {
		out.Data = append(out.Data, embedding{"embedding", i, vector{v, e.base64}})
	}
	return out, nil
}

// embeddings are the answer of /v1/embeddings.
type embeddings struct {
	_      struct{}      `schema:"Embeddings"`
	Object string        `json:"object" enum:"list"`
	Data   []embedding   `json:"data"`
	Model  string        `json:"model"`
	Usage  api.ReadUsage `json:"usage"`
}

type embedding struct {
	Object    string `json:"object" enum:"embedding"`
	Index     int    `json:"index"`
	Embedding vector `json:"embedding"`
}

// A vector is a list of numbers, or a text with little-endian float32 in base64. The official
// clients ask for the latter.
type vector struct {
	list   wire.Floats
	base64 bool
}

func (v vector) MarshalJSON() ([]byte, error) {
	if !v.base64 {
		return v.list.MarshalJSON()
	}
	raw := make([]byte, 0, 4*len(v.list))
	for _, x := range v.list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return append(base64.StdEncoding.AppendEncode([]byte{'"'}, raw), '"'), nil
}

// Shape describes the vector to wire.AnswerOf.
func (vector) Shape() *wire.Shape {
	return wire.Either(wire.List(wire.Number),
		wire.String.Doc("float32, the little end first, in base64."))
}
