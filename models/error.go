package models

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"tandem/models/nn"
)

// A Code classifies an Error for programs.
type Code string

const (
	CodeNotFound    Code = "model_not_found"   // no such folder
	CodeIncomplete  Code = "model_incomplete"  // files are missing or cut short
	CodeInvalid     Code = "model_invalid"     // files contradict themselves or each other
	CodeUnsupported Code = "model_unsupported" // a valid model this program can't run
)

// Error is what Load returns about a model. Message says in one line what is wrong and what to do.
type Error struct {
	Code    Code
	Model   string // the folder or name it was loaded by
	Message string
	Err     error // cause, may be nil
}

func (e *Error) Error() string {
	if e.Model == "" {
		return e.Message
	}
	return e.Model + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

func errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// invalid turns an error about files into an *Error. One that is an *Error already stays as it is.
func invalid(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	code := CodeInvalid
	if _, ok := errors.AsType[*nn.UnsupportedError](err); ok {
		code = CodeUnsupported
	}
	return &Error{Code: code, Message: err.Error(), Err: err}
}

// maxMessage is the bytes of a message. Files may hold a name of any length, and messages name
// things.
const maxMessage = 1 << 10

// oneLine returns a message as one line of readable characters. Of a longer one it leaves out the
// middle: the end says what to do.
func oneLine(message string) string {
	if len(message) > maxMessage {
		message = message[:maxMessage*3/4] + " ... " + message[len(message)-maxMessage/4:]
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) && c != unicode.ReplacementChar {
			return c
		}
		return ' '
	}, message)
}
