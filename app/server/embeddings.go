package server

import (
	"encoding/json"
	"fmt"
	"strconv"

	"tandem/app/control"
)

// An embedding is a request for the vectors of texts.
type embedding struct {
	model      string
	field      string            // that holds the input, for errors
	input      []string          // texts, or
	tokens     []json.RawMessage // lists of token ids
	dimensions int               // 0 = all
}

// checkInput refuses too many texts, and those that are empty.
func (e *embedding) checkInput(f *fields) {
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
func (e *embedding) param(i int) string {
	if len(e.input)+len(e.tokens) == 1 {
		return e.field
	}
	return fmt.Sprintf("%s[%d]", e.field, i)
}

func (e *embedding) modelName() string { return e.model }

// texts implements readRequest. Token ids are taken as they are: what ends a text
// is the client's to add then.
func (e *embedding) texts(in *intake) error {
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
