package control

import (
	"fmt"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Code classifies an Error for programs. The server maps codes to HTTP status in one table. The
// client gets the code back from the answer.
type Code string

const (
	CodeInvalid       Code = "invalid_request"      // the caller can mend the request
	CodeModelNotFound Code = "model_not_found"      // no such model is installed
	CodeNoTemplate    Code = "no_chat_template"     // the model takes plain prompts only
	CodeRunNotFound   Code = "run_not_found"        // no such run is in flight, or in the history
	CodeNoCheckpoint  Code = "checkpoint_not_found" // there is none by that id or name
	CodeNoChat        Code = "chat_not_found"       // there is none by that id
	CodeNoBench       Code = "bench_not_found"      // there is none by that id, or none runs
	// what the request needs was not kept, or is gone
	CodeNotKept     Code = "not_kept"
	CodeKeyNotFound Code = "key_not_found" // there is no such key
	CodePortTaken   Code = "port_taken"    // another program has the port
	CodeModelBusy   Code = "model_busy"    // another model is answering requests
	// there is no room beside the others, or load_on_request forbids it
	CodeNotLoaded    Code = "model_not_loaded"
	CodeNotReady     Code = "not_ready"     // starting, loading, or no model chosen
	CodeModelInvalid Code = "model_invalid" // the model's folder cannot be loaded
	CodeUnauthorized Code = "unauthorized"  // no session, or an old one
	CodeForbidden    Code = "forbidden"     // this caller is not let in
	// the hub asks for a token, or for a licence to be accepted
	CodeGated    Code = "model_gated"
	CodeDiskFull Code = "disk_full"    // not enough room for the download
	CodeMemory   Code = "memory_short" // the model does not fit the machine's memory
	// another program holds the database
	CodeDatabaseBusy Code = "database_busy"
	// a folder of Tandem's home cannot be read or written
	CodeFolder      Code = "folder_unusable"
	CodeUnavailable Code = "server_unavailable" // nothing answers on the socket
	// the process that serves ended too often to be started again
	CodeCrashed Code = "server_crashed"
	// a person ended it, or its client left: no failure
	CodeCancelled Code = "cancelled"
	CodeInternal  Code = "internal" // a defect of ours
)

// Error is one sentence for a person with a code for programs.
type Error struct {
	Code    Code
	Message string // what happened and what to do, in words that suit a terminal and the window
	Advice  string // what else to do in a terminal; "" where Message says it
	Param   string // the field at fault, as the request spells it; may be empty
	Err     error  // cause, may be nil; never shown to HTTP clients

	// Record is Message as the history may keep it: without what the request brought. It is empty
	// where the two cannot be told apart.
	Record string
}

// Error returns Message alone, since texts made of errors are shown in the window too.
func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Advise sets the error's Advice and returns the error.
func (e *Error) Advise(advice string) *Error {
	e.Advice = advice
	return e
}

// Because sets the error's cause and returns the error.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// ToDo returns the Advice for package terminal, which knows no errors of ours.
func (e *Error) ToDo() string { return e.Advice }

// A Word is an operand of Errorf that the history may keep: a field, a model, a command of ours. It
// is never text of a request.
type Word string

// Words are the choices that a message lists: "a, b or c". The history may keep them.
type Words []string

func (w Words) String() string { return enumerate(w, "or") }

// Plain builds an Error whose whole message the history may keep.
func Plain(code Code, message string) *Error {
	return &Error{Code: code, Message: message, Record: message}
}

// Errorf builds an Error. A %w verb keeps its operand as the cause. Its Record keeps numbers and
// Words; other operands may be of a request, and become a sign.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error(), Record: withoutTexts(format, args)}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	return e
}

// withoutTexts formats a message with a sign in place of each text.
func withoutTexts(format string, args []any) string {
	kept := slices.Clone(args)
	for i, a := range kept {
		switch a.(type) {
		case Word, Words:
			continue
		}
		if k := reflect.ValueOf(a).Kind(); k < reflect.Bool || k > reflect.Float64 {
			kept[i] = leftOut{}
		}
	}
	return fmt.Errorf(format, kept...).Error()
}

// leftOut is printed as a sign by every verb.
type leftOut struct{}

func (leftOut) Error() string { return "…" }

// Format implements [fmt.Formatter].
func (leftOut) Format(f fmt.State, _ rune) { fmt.Fprint(f, "…") }

// ErrDraining answers requests that arrive while the process shuts down.
var ErrDraining = Errorf(CodeNotReady, "Tandem is shutting down; try again when it runs.")

// Sentence returns s as one sentence: with a capital first letter and a full stop.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:] + "."
}
