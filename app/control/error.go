package control

import "fmt"

// A Code classifies an Error for programs. The server maps codes to HTTP
// status in one table; the client gets them back from the reply.
type Code string

const (
	CodeInvalid       Code = "invalid_request"      // the caller can mend the request
	CodeModelNotFound Code = "model_not_found"      // no such model is registered
	CodeNoTemplate    Code = "no_chat_template"     // the model takes plain prompts only
	CodeRunNotFound   Code = "run_not_found"        // no such run is in flight, or in the history
	CodeNoCheckpoint  Code = "checkpoint_not_found" // there is none by that id or name
	CodeNoChat        Code = "chat_not_found"       // there is none by that id
	CodeNoBench       Code = "bench_not_found"      // there is none by that id, or none runs
	CodeNotKept       Code = "not_kept"             // what the request needs was not kept, or is gone
	CodeKeyNotFound   Code = "key_not_found"        // there is no such key
	CodePortTaken     Code = "port_taken"           // another program has the port
	CodeModelBusy     Code = "model_busy"           // another model is answering requests
	CodeNotReady      Code = "not_ready"            // starting, loading, or no model chosen
	CodeModelInvalid  Code = "model_invalid"        // the model's folder cannot be loaded
	CodeUnauthorized  Code = "unauthorized"         // no session, or an old one
	CodeForbidden     Code = "forbidden"            // the door is closed to this caller
	CodeGated         Code = "model_gated"          // the hub wants a token or a licence accepted
	CodeDiskFull      Code = "disk_full"            // not enough room for the download
	CodeMemory        Code = "memory_short"         // the model does not fit the machine's memory
	CodeFolder        Code = "folder_unusable"      // a folder of Tandem's home cannot be read or written
	CodeUnavailable   Code = "server_unavailable"   // nothing answers on the socket
	CodeCrashed       Code = "server_crashed"       // the process that serves ended too often to be started again
	CodeCancelled     Code = "cancelled"            // somebody ended it, or its client left: no failure
	CodeInternal      Code = "internal"             // a defect of ours
)

// Error is one sentence for a person with a code for programs.
type Error struct {
	Code    Code
	Message string
	Param   string // the field at fault, as the request spells it; may be empty
	Err     error  // cause, may be nil; never shown to HTTP clients
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf builds an Error. A %w verb keeps its operand as the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error()}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = u.Unwrap()
	}
	return e
}
