package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"tandem/app/control"
	"tandem/engine"
)

// Codes that only HTTP has, beside those of the engine and of control.
const (
	codeTooLarge  control.Code = "request_too_large"
	codeMediaType control.Code = "unsupported_media_type"
	codeMethod    control.Code = "method_not_allowed"
	codeNoRoute   control.Code = "not_found"
	codeTimeout   control.Code = "request_timeout"
	codeTooMany   control.Code = "rate_limit_exceeded" // OpenAI's

	codeNoResponse control.Code = "response_not_found"
	codeNoPrevious control.Code = "previous_response_not_found" // OpenAI's
	codeNoItem     control.Code = "item_not_found"
)

// statusClientGone is logged and counted for a client that left before its
// answer, and answered to one whose work somebody else cancelled: a request that
// waited, a bench.
const statusClientGone = 499

// An outcome is how a code looks over HTTP.
type outcome struct {
	status int
	kind   string // OpenAI's error.type
	again  bool   // worth trying again in a second
}

// outcomes maps every code there is. A code missing here is an internal error.
var outcomes = map[string]outcome{
	string(engine.CodeInvalid):       {http.StatusBadRequest, "invalid_request_error", false},
	string(control.CodeNoTemplate):   {http.StatusBadRequest, "invalid_request_error", false},
	string(engine.CodeContextLength): {http.StatusBadRequest, "invalid_request_error", false},
	string(engine.CodeQueueFull):     {http.StatusServiceUnavailable, "server_error", true},
	string(engine.CodeClosed):        {http.StatusServiceUnavailable, "server_error", true},
	string(engine.CodeInternal):      {http.StatusInternalServerError, "server_error", false},

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
	string(control.CodeUnavailable):   {http.StatusBadGateway, "server_error", false},

	string(codeTooLarge):          {http.StatusRequestEntityTooLarge, "invalid_request_error", false},
	string(codeMediaType):         {http.StatusUnsupportedMediaType, "invalid_request_error", false},
	string(codeMethod):            {http.StatusMethodNotAllowed, "invalid_request_error", false},
	string(codeNoRoute):           {http.StatusNotFound, "invalid_request_error", false},
	string(control.CodeCancelled): {statusClientGone, "server_error", false},
	string(codeTimeout):           {http.StatusRequestTimeout, "invalid_request_error", false},
	string(codeTooMany):           {http.StatusTooManyRequests, "rate_limit_error", true},
	string(codeNoResponse):        {http.StatusNotFound, "invalid_request_error", false},
	string(codeNoPrevious):        {http.StatusBadRequest, "invalid_request_error", false},
	string(codeNoItem):            {http.StatusNotFound, "invalid_request_error", false},
}

// A failure is an error as a client sees it.
type failure struct {
	outcome
	body errorBody
	long *overlong // nil unless the prompt is
}

type errorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// failureOf translates err, whatever it is. Only errors that were made for a
// client are told in their own words.
func failureOf(err error) failure {
	code, param, message := string(engine.CodeInternal), "", errPanic.Message
	if e, ok := errors.AsType[*control.Error](err); ok {
		code, param, message = string(e.Code), e.Param, e.Message
	} else if e, ok := errors.AsType[*engine.Error](err); ok {
		code, message = string(e.Code), e.Message
	} else if errors.Is(err, context.Canceled) {
		code, message = string(control.CodeCancelled), "The request was cancelled."
	}
	o, ok := outcomes[code]
	if !ok {
		code = string(engine.CodeInternal)
		o = outcomes[code]
	}
	f := failure{outcome: o, body: errorBody{Message: message, Type: o.kind, Code: code}}
	f.long, _ = errors.AsType[*overlong](err)
	if param != "" {
		f.body.Param = &param
	}
	return f
}

// json is the body of an error answer, and the data of an error event, of OpenAI's.
func (f failure) json() []byte {
	b, err := json.Marshal(map[string]errorBody{"error": f.body})
	if err != nil {
		panic(err) // strings only
	}
	return b
}

// write sends the failure as the whole answer, in a protocol's form.
func (f failure) write(w http.ResponseWriter, p protocol) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.again {
		h.Set("Retry-After", "1")
	} else {
		h.Set("X-Should-Retry", "false") // both vendors' libraries repeat 408, 409 and 5xx unasked
	}
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	status, body := p.refusal(h, f)
	_ = writeWhole(w, status, body) // the client left
}

// Refuse answers with an error in place of a handler.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	failureOf(err).write(w, protocolOf(r))
}

// errPanic is what a request ends with that met a defect of ours.
var errPanic = control.Errorf(control.CodeInternal, "Tandem failed on this request; its log tells more.")

// invalid refuses a request because of one field.
func invalid(param, format string, args ...any) *control.Error {
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

// An overlong prompt is told of in each vendor's words.
type overlong struct {
	limit int    // tokens
	got   string // see contextError
}

func (o *overlong) Error() string { return fmt.Sprintf("%s tokens > %d maximum", o.got, o.limit) }

// errRunCancelled is the cause of a run's context after POST /app/runs/{id}/cancel.
var errRunCancelled error = control.Errorf(control.CodeCancelled, "The run was cancelled.")

// errStopping is the cause after Server.Close.
var errStopping = control.Errorf(control.CodeNotReady, "Tandem is stopping.")
