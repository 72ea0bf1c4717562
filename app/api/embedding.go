package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
)

// An Embedding is a request for the vectors of texts.
type Embedding struct {
	Model      string
	Field      string            // the field that holds the input, for errors
	Input      []string          // texts, or
	Tokens     []json.RawMessage // lists of token ids
	Dimensions int               // 0 = all
	Truncate   bool              // truncate an input at the end if it exceeds the context
}

// CheckInput refuses empty texts and more than MaxTexts texts.
func (e *Embedding) CheckInput(f *wire.Fields) {
	if n := max(len(e.Input), len(e.Tokens)); n > MaxTexts {
		f.Fail(e.Field, "holds %d texts; %d are allowed in one request.", n, MaxTexts)
	}
	for i, text := range e.Input {
		if text == "" {
			f.Fail(e.param(i), "is empty; send some text.")
		}
	}
}

// param returns the name of an input, for errors.
func (e *Embedding) param(i int) string {
	if len(e.Input)+len(e.Tokens) == 1 {
		return e.Field
	}
	return fmt.Sprintf("%s[%d]", e.Field, i)
}

func (e *Embedding) ModelName() string { return e.Model }

// Beginning returns the part of a text that can have n tokens, so that the rest is not tokenized.
func Beginning(m model.Model, text string, n int) string {
	if longest := m.Tokenizer().LongestToken(); n < len(text)/longest {
		text = text[:n*longest]
	}
	return strings.ToValidUTF8(text, "")
}

// Texts implements ReadRequest. Token ids are used as they are: the client adds the token that ends
// a text.
func (e *Embedding) Texts(in *Intake) error {
	m := in.Model
	if err := CheckKind(m, control.KindEmbedding,
		"embeddings are made by models such as Qwen3-Embedding"); err != nil {
		return err
	}
	if all := m.Reader().Dimensions(); e.Dimensions > all {
		return wire.Invalid("dimensions",
			"dimensions is %d, but embeddings of %s have %d; ask for fewer, or leave it out.",
			e.Dimensions, control.Word(m.ID()), all)
	}
	for i, v := range e.Tokens {
		ids, err := TokenIDs(v, m, e.param(i))
		if err := in.Add(e.param(i), ids, err); err != nil {
			return err
		}
	}
	for i, text := range e.Input {
		whole := len(text)
		if e.Truncate {
			text = Beginning(m, text, m.ContextLength())
		}
		if err := CheckLength(m, e.param(i), len(text)); err != nil {
			return err
		}
		ids, err := EncodeAlone(m.Tokenizer(), text)
		if over := len(ids) - m.ContextLength(); e.Truncate && err == nil && over > 0 {
			var tail []int32
			_, tail, err = marksOf(m.Tokenizer())
			from := len(ids) - len(tail)
			ids = slices.Delete(ids, max(0, from-over), from)
			in.NoteCut()
		} else if len(text) < whole {
			in.NoteCut()
		}
		if err := in.Add(e.param(i), ids, err); err != nil {
			return err
		}
	}
	return nil
}
