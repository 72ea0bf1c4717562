package tokenizer

import "fmt"

// Code says what kind of failure an Error is.
type Code string

const (
	// CodeInvalid is a file that contradicts itself or is not what it claims.
	CodeInvalid Code = "tokenizer_invalid"
	// CodeUnsupported is a component or option this package does not know.
	CodeUnsupported Code = "tokenizer_unsupported"
	// CodeTooLarge is a file beyond one of the limits of this package.
	CodeTooLarge Code = "tokenizer_too_large"
	// CodeTooSlow is a text on which a split pattern backtracks without end.
	CodeTooSlow Code = "tokenizer_too_slow"
)

// Error is the error of Load and Encode.
type Error struct {
	Code Code
	// Where names the part of the file, like "pre_tokenizer Split".
	Where string
	// What ends the sentence that Where begins.
	What string
}

func (e *Error) Error() string {
	if e.Where == "" {
		return "tokenizer: " + e.What
	}
	return "tokenizer: " + e.Where + ": " + e.What
}

func invalid(where, format string, args ...any) error {
	return &Error{CodeInvalid, where, fmt.Sprintf(format, args...)}
}

func tooLarge(where, format string, args ...any) error {
	return &Error{CodeTooLarge, where, fmt.Sprintf(format, args...)}
}

// unsupported returns the error of a file with a component that Load does not know.
func unsupported(where, what string) error {
	return &Error{CodeUnsupported, where, what +
		" is not supported; use a BPE model of the Llama, Qwen or Gemma form"}
}
