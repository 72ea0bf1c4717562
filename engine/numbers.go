package engine

import "tandem/engine/sample"

// errNoNumbers ends a request or an encode request of a model that does not work.
var errNoNumbers = &Error{
	Code: CodeNoNumbers,
	Message: "The model computes no numbers: its weights or its config.json are damaged. " +
		"Download it again, or take another version of it.",
}

// isInvalid reports whether the logits of the token were not numbers.
func (t Token) isInvalid() bool { return t.ID == sample.NoToken }

// allNumbers reports whether all of x are finite.
func allNumbers(x []float32) bool {
	for _, v := range x {
		if v-v != 0 { // NaN for NaN and for the infinities
			return false
		}
	}
	return true
}
