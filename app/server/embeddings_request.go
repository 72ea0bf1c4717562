package server

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"tandem/app/model"
)

// An embeddingsRequest is the body of /v1/embeddings.
type embeddingsRequest struct {
	embedding
	base64 bool
}

func readEmbeddings(f *fields) (readRequest, error) {
	e := &embeddingsRequest{embedding: embedding{model: modelOf(f), field: "input"}}
	switch format := f.string("encoding_format"); format {
	case "", "float":
	case "base64":
		e.base64 = true
	default:
		f.fail("encoding_format", "is one of %q, not %q.", []string{"float", "base64"}, clip(format))
	}
	if n := f.int("dimensions", 1, math.MaxInt32); n != nil {
		e.dimensions = *n
	}
	e.readInput(f)
	return e, f.err
}

// readInput takes the four forms of an input.
func (e *embeddingsRequest) readInput(f *fields) {
	v := f.raw("input")
	var list []json.RawMessage
	switch {
	case v == nil:
		f.fail("input", "is missing.")
	case v[0] == '"':
		e.input = []string{f.string("input")}
	case json.Unmarshal(v, &list) != nil || len(list) == 0:
		f.fail("input", "must be a string, a list of strings, a list of token ids or a list of such lists, and not empty.")
	case list[0][0] == '"':
		e.input = f.strings("input")
	case list[0][0] == '[':
		e.tokens = list
	default:
		e.tokens = []json.RawMessage{v}
	}
	e.checkInput(f)
}

// answer implements readRequest.
func (e *embeddingsRequest) answer(run *run, m model.Model, texts [][]int32) ([]byte, error) {
	vectors, stats, err := m.Reader().Embed(run.ctx, run.reading(texts), e.dimensions)
	if err != nil {
		return nil, err
	}
	run.took(stats)
	b := []byte(`{"object":"list","data":[`)
	for i, v := range vectors {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"object":"embedding","index":%d,"embedding":`, i)
		if e.base64 {
			b = appendBase64(b, v)
		} else {
			b = appendFloats(b, v)
		}
		b = append(b, '}')
	}
	b = appendString(append(b, `],"model":`...), m.ID())
	return append(appendReadUsage(b, stats), '}'), nil
}

// appendBase64 appends a JSON string of the numbers in float32, little end first,
// as the official clients ask for them.
func appendBase64(dst []byte, list []float32) []byte {
	raw := make([]byte, 0, 4*len(list))
	for _, x := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"')
}
