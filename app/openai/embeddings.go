package openai

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"tandem/app/api"
	"tandem/app/control"
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
	e := &embeddingsRequest{Embedding: api.Embedding{Model: api.ModelOf(f), Field: "input"}}
	switch format := f.String("encoding_format"); format {
	case "", "float":
	case "base64":
		e.base64 = true
	default:
		f.Fail("encoding_format", "must be %s, not %q.",
			control.Words(f.Choices("encoding_format")), wire.Clip(format))
	}
	if n := f.Whole("dimensions"); n != nil {
		e.Dimensions = *n
	}
	e.Input, e.Tokens = readTexts(f, "input")
	e.CheckInput(f)
	return e, f.Err
}

// Answer implements api.ReadRequest.
func (e *embeddingsRequest) Answer(run *api.Run, m model.Model, texts [][]int32) ([]byte, error) {
	vectors, stats, err := m.Reader().Embed(run.Ctx, run.Reading(texts), e.Dimensions)
	if err != nil {
		return nil, err
	}
	run.Took(stats)
	b := []byte(`{"object":"list","data":[`)
	for i, v := range vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"object":"embedding","index":%d,"embedding":`, i)
		if e.base64 {
			b = appendBase64(b, v)
		} else {
			b = api.AppendFloats(b, v)
		}
		b = append(b, '}')
	}
	b = wire.AppendString(append(b, `],"model":`...), m.ID())
	return append(api.AppendReadUsage(b, stats), '}'), nil
}

// appendBase64 appends the numbers as a JSON string of little-endian float32 in base64. The
// official clients ask for that form.
func appendBase64(dst []byte, list []float32) []byte {
	raw := make([]byte, 0, 4*len(list))
	for _, x := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"')
}
