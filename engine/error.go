package engine

import (
	"errors"
	"fmt"
	"log/slog"

	"tandem/engine/mlx"
)

// A Code classifies an Error for programs. The server maps codes to HTTP
// status in one table.
type Code string

const (
	CodeInvalid       Code = "invalid_request"         // the caller can mend the request
	CodeContextLength Code = "context_length_exceeded" // the prompt does not fit the context
	CodeQueueFull     Code = "queue_full"              // try again in a second
	CodeClosed        Code = "model_unloaded"          // the engine was closed
	CodeNoNumbers     Code = "model_no_numbers"        // the model's files are damaged
	CodeInternal      Code = "internal"                // a defect, or MLX failed
)

// Error is what Generate and Read end with. Message tells a person what happened.
type Error struct {
	Code    Code
	Message string
	Err     error // cause, may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// roundError is the error of a request whose round failed.
func roundError(log *slog.Logger, err error) *Error {
	if p, ok := errors.AsType[*mlx.PanicError](err); ok {
		log.Error("panic on the MLX thread", "panic", p.Value, "stack", string(p.Stack))
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	return &Error{Code: CodeInternal,
		Message: "the model failed to evaluate; the request was given up", Err: err}
}
