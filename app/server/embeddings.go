package server

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"tandem/app/control"
	"tandem/app/model"
)

// An embeddingsRequest is the body of /v1/embeddings.
type embeddingsRequest struct {
	model      string
	field      string            // that holds the input, for errors
	input      []string          // texts, or
	tokens     []json.RawMessage // lists of token ids
	base64     bool
	dimensions int // 0 = all
}

func readEmbeddings(f *fields) (readRequest, error) {
	e := &embeddingsRequest{model: modelOf(f), field: "input"}
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

// checkInput refuses too many texts, and those that are empty.
func (e *embeddingsRequest) checkInput(f *fields) {
	if n := max(len(e.input), len(e.tokens)); n > maxTexts {
		f.fail(e.field, "holds %d texts; %d are allowed in one request.", n, maxTexts)
	}
	for i, text := range e.input {
		if text == "" {
			f.fail(e.param(i), "is empty; send some text.")
		}
	}
}

// param names an input in errors.
func (e *embeddingsRequest) param(i int) string {
	if len(e.input)+len(e.tokens) == 1 {
		return e.field
	}
	return fmt.Sprintf("%s[%d]", e.field, i)
}

func (e *embeddingsRequest) modelName() string { return e.model }

// texts implements readRequest. Token ids are taken as they are: what ends a text
// is the client's to add then.
func (e *embeddingsRequest) texts(in *intake) error {
	m := in.model
	if err := checkKind(m, control.KindEmbedding, "embeddings are made by models such as Qwen3-Embedding"); err != nil {
		return err
	}
	if all := m.Reader().Dimensions(); e.dimensions > all {
		return invalid("dimensions", "dimensions is %d, but embeddings of %s have %d; ask for fewer, or leave it out.", e.dimensions, m.ID(), all)
	}
	for i, v := range e.tokens {
		ids, err := tokenIDs(v, m.VocabSize(), e.param(i))
		if err := in.add(e.param(i), ids, err); err != nil {
			return err
		}
	}
	for i, text := range e.input {
		if err := checkLength(m, e.param(i), len(text)); err != nil {
			return err
		}
		ids, err := m.Tokenizer().Encode(text, true)
		if err := in.add(e.param(i), ids, err); err != nil {
			return err
		}
	}
	return nil
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

// appendFloats appends a JSON list of the shortest numbers that are the same in
// float32.
func appendFloats(dst []byte, list []float32) []byte {
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, ']')
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
