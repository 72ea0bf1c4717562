package api

import (
	"slices"
	"testing"

	"tandem/app/model"
)

// A framing tokenizer has a token for each byte, and puts tokens around a text. The texts B, G and
// E are special tokens.
type framing struct {
	model.Tokenizer
	before, after string
}

func (f framing) Encode(text string, addSpecial bool) (ids []int32, err error) {
	if addSpecial {
		text = f.before + text + f.after
	}
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

// TestTextThatBeginsWithTheBOSHasItOnce: a client that rendered the prompt itself wrote the BOS.
func TestTextThatBeginsWithTheBOSHasItOnce(t *testing.T) {
	for _, c := range []struct{ before, after, text, want string }{
		{"B", "", "Bx", "Bx"},
		{"B", "", "x", "Bx"},
		{"B", "", "", "B"},
		{"B", "", "B", "B"},
		{"B", "", "BBx", "BBx"},
		{"B", "", "xB", "BxB"},
		{"B", "E", "Bx", "BxE"},
		{"BG", "", "BGx", "BGx"},
		{"BG", "", "Bx", "BGBx"},
		{"BG", "E", "BGx", "BGxE"},
		{"", "E", "EEx", "EExE"},
		{"", "E", "E", "EE"},
		{"", "", "BBx", "BBx"},
	} {
		ids, err := EncodeAlone(framing{before: c.before, after: c.after}, c.text)
		want, _ := framing{}.Encode(c.want, false)
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%+v: %q, %v", c, ids, err)
		}
	}
}
