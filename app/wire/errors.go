package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"tandem/app/control"
	"tandem/engine"
)

// Codes that only HTTP has, besides those of the engine and of control.
const (
	CodeTooLarge  control.Code = "request_too_large"
	CodeMediaType control.Code = "unsupported_media_type"
	CodeMethod    control.Code = "method_not_allowed"
	CodeUpgrade   control.Code = "upgrade_required"
	CodeNoRoute   control.Code = "not_found"
	codeTimeout   control.Code = "request_timeout"

	CodeNoResponse control.Code = "response_not_found"
	CodeNoPrevious control.Code = "previous_response_not_found" // OpenAI's
	CodeNoItem     control.Code = "item_not_found"
)

// StatusClientGone is logged and counted for a client that left before its answer. It is also the
// answer to a client whose work was cancelled, such as a bench or a request in the queue.
const StatusClientGone = 499

// An outcome says how HTTP shows a code.
type outcome struct {
	Status int
	kind   string // OpenAI's error.type
	Again  bool   // may succeed in a second
}

// Outcomes has every code. A code that is missing here is an internal error.
//
// The text of an error is where the error is made. To find the texts of a status, search app for the
// names of its codes.
var Outcomes = map[string]outcome{
	string(engine.CodeInvalid):       {http.StatusBadRequest, "invalid_request_error", false},
	string(control.CodeNoTemplate):   {http.StatusBadRequest, "invalid_request_error", false},
	string(engine.CodeContextLength): {http.StatusBadRequest, "invalid_request_error", false},
	string(engine.CodeQueueFull):     {http.StatusServiceUnavailable, "server_error", true},
	string(engine.CodeClosed):        {http.StatusServiceUnavailable, "server_error", true},
	string(engine.CodeInternal):      {http.StatusInternalServerError, "server_error", false},
	string(engine.CodeNoNumbers):     {http.StatusUnprocessableEntity, "invalid_request_error", false},

	string(control.CodeModelNotFound): {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeRunNotFound):   {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeNoCheckpoint):  {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeNoChat):        {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeNoBench):       {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeNotKept):       {http.StatusConflict, "invalid_request_error", false},
	string(control.CodeKeyNotFound):   {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodePortTaken):     {http.StatusConflict, "invalid_request_error", false},
	string(control.CodeModelBusy):     {http.StatusConflict, "invalid_request_error", false},
	string(control.CodeNotLoaded):     {http.StatusConflict, "invalid_request_error", false},
	string(control.CodeNotReady):      {http.StatusServiceUnavailable, "server_error", true},
	string(control.CodeModelInvalid):  {http.StatusUnprocessableEntity, "invalid_request_error", false},
	string(control.CodeUnauthorized):  {http.StatusUnauthorized, "authentication_error", false},
	string(control.CodeForbidden):     {http.StatusForbidden, "permission_error", false},
	string(control.CodeGated):         {http.StatusForbidden, "permission_error", false},
	string(control.CodeDiskFull):      {http.StatusInsufficientStorage, "server_error", false},
	string(control.CodeMemory):        {http.StatusInsufficientStorage, "server_error", false},
	string(control.CodeFolder):        {http.StatusInsufficientStorage, "server_error", false},
	string(control.CodeDatabaseBusy):  {http.StatusServiceUnavailable, "server_error", true},
	string(control.CodeUnavailable):   {http.StatusBadGateway, "server_error", false},

	string(CodeTooLarge):          {http.StatusRequestEntityTooLarge, "invalid_request_error", false},
	string(CodeMediaType):         {http.StatusUnsupportedMediaType, "invalid_request_error", false},
	string(CodeMethod):            {http.StatusMethodNotAllowed, "invalid_request_error", false},
	string(CodeUpgrade):           {http.StatusUpgradeRequired, "invalid_request_error", false},
	string(CodeNoRoute):           {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeCancelled): {StatusClientGone, "server_error", false},
	string(codeTimeout):           {http.StatusRequestTimeout, "invalid_request_error", false},
	string(CodeNoResponse):        {http.StatusNotFound, "invalid_request_error", false},
	string(CodeNoPrevious):        {http.StatusBadRequest, "invalid_request_error", false},
	string(CodeNoItem):            {http.StatusNotFound, "invalid_request_error", false},
}

// A Failure is an error as a client sees it.
type Failure struct {
	outcome
	Body ErrorBody
	long *Overlong // nil unless the prompt is too long
}

// An ErrorBody is what OpenAI's form of an error has.
type ErrorBody struct {
	Message string `json:"message" doc:"One sentence that says what to do."`

	// Advice is the end of Message that only a terminal has a use for.
	Advice string `json:"advice,omitempty" doc:"The end of message, with commands for a terminal."`

	Type  string  `json:"type"`
	Param *string `json:"param" doc:"The field at fault."`
	Code  string  `json:"code" doc:"For programs."`
}

type openAIError struct {
	_     struct{}  `schema:"OpenAIError"`
	Error ErrorBody `json:"error"`
}

// OpenAIErrorShape is OpenAIError in OpenAPI.
var OpenAIErrorShape = AnswerOf[openAIError]()

// maxParam limits the name of a field in an error, in bytes: names in it may be the client's.
const maxParam = 200

// A clientError carries its own message for the client, such as that the disk is full. The code is
// empty for other errors of its type.
type clientError interface {
	error
	ClientMessage() (code, message string)
}

// FailureOf turns any err into a Failure. The client sees the text of an error only if it was made
// for a client, and never more than MaxErrorText of it.
func FailureOf(err error) Failure {
	code, param, message, advice := string(engine.CodeInternal), "", ErrPanic.Message, ""
	if e, ok := errors.AsType[*control.Error](err); ok {
		code, param, message, advice = string(e.Code), e.Param, e.Message, e.Advice
	} else if e, ok := errors.AsType[*engine.Error](err); ok {
		code, message = string(e.Code), e.Message
	} else if e, ok := errors.AsType[clientError](err); ok {
		if c, m := e.ClientMessage(); c != "" {
			code, message = c, m
		}
	} else if errors.Is(err, context.Canceled) {
		code, message = string(control.CodeCancelled), "The request was cancelled."
	}
	o, ok := Outcomes[code]
	if !ok {
		code = string(engine.CodeInternal)
		o = Outcomes[code]
	}
	f := Failure{outcome: o, Body: ErrorBody{Type: o.kind, Code: code}}
	f.long, _ = errors.AsType[*Overlong](err)
	f.Body.Message = abridge(message, MaxErrorText)
	if f.Body.Advice = advice; advice != "" {
		f.Body.Message += " " + advice
	}
	if param != "" {
		f.Body.Param = new(control.Shorten(param, maxParam))
	}
	return f
}

// json returns the body of an error answer in OpenAI's form. An error event has the same.
func (f Failure) json() []byte {
	return Encode(openAIError{Error: f.Body})
}

// Write sends the failure as the whole answer, in the form of p.
func (f Failure) Write(w http.ResponseWriter, p protocol) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.Again {
		h.Set("Retry-After", "1")
	} else {
		h.Set("X-Should-Retry", "false") // vendors' libraries repeat 408, 409 and 5xx by themselves
	}
	if f.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	status, body := p.Refusal(h, f)
	_ = WriteWhole(w, status, body) // the client left
}

// Refuse answers with err in place of a handler.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	FailureOf(err).Write(w, ProtocolOf(r))
}

// ErrPanic is the error of a request that met a defect of ours.
var ErrPanic = control.Errorf(control.CodeInternal,
	"Tandem failed on this request; its log tells more.")

// Invalid refuses a request because of one field.
func Invalid(param, format string, args ...any) *control.Error {
	args = slices.Clone(args)
	for i, a := range args {
		if a == param {
			args[i] = control.Word(param)
		}
	}
	e := control.Errorf(control.CodeInvalid, format, args...)
	e.Param = param
	return e
}

// An Overlong describes a prompt that is too long. Each vendor has its own words for it.
type Overlong struct {
	Limit int    // tokens
	Got   string // a number, or "at least" and a number
}

func (o *Overlong) Error() string { return fmt.Sprintf("%s tokens > %d maximum", o.Got, o.Limit) }

// ErrRunCancelled is the cause of a run's context after POST /app/runs/{id}/cancel.
var ErrRunCancelled error = control.Errorf(control.CodeCancelled, "The run was cancelled.")

// ErrStopping is the cause after Server.Close.
var ErrStopping = control.Errorf(control.CodeNotReady, "Tandem is stopping.")
