package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/app/control"
)

const (
	MaxBody     = 32 << 20         // bytes
	maxDrain    = 64 << 20         // bytes read past maxBody so that the client hears why
	maxNesting  = 64               // levels of arrays and objects
	BodyTimeout = 60 * time.Second // for the whole body to arrive
	drainBody   = time.Second      // for what is missing of it once a drain began

	UnreadTimeout = 10 * time.Second // for a body that no handler reads, such as that of a refused request

	SmallBody   = 64 << 10 // bytes; larger ones take a place
	LargePlaces = 16       // large requests read, rendered and tokenized at once

	// LargePerClient is how many of these one client may have, so that it leaves some to others.
	LargePerClient = LargePlaces * 3 / 4
)

// A Place is held by a request with a large body until it is token ids: such
// bodies, and what they become on the way, take memory and time. The zero
// value is a small request's.
type Place struct {
	Client string // see ClientOf
	leave  func()
}

// Held reports whether the place is one of a large request.
func (p *Place) Held() bool { return p.leave != nil }

func (p *Place) Release() {
	if p.leave != nil {
		p.leave()
	}
	p.leave = nil
}

// A placeTable has the places that are held.
type placeTable struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by client
}

// An Exchange is what the routes of one server share to read bodies and to stream the
// progress of long work. Its methods may be called by many goroutines at once.
type Exchange struct {
	Log      *slog.Logger
	Draining context.Context // ends when the server drains
	large    placeTable
}

// NewExchange returns an Exchange that logs to log, until draining ends.
func NewExchange(log *slog.Logger, draining context.Context) *Exchange {
	return &Exchange{Log: log, Draining: draining, large: placeTable{of: map[string]int{}}}
}

// Take waits for nothing: who finds no place tries again.
func (x *Exchange) Take(p *Place) error {
	l := &x.large
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.of[p.Client] == LargePerClient:
		return control.Errorf(CodeTooMany, "%d large requests of this client are being read already; try again in a second.", LargePerClient)
	case l.all == LargePlaces:
		return control.Errorf(control.CodeNotReady, "%d large requests are being read already; try again in a second.", LargePlaces)
	}
	l.all++
	l.of[p.Client]++
	p.leave = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if l.of[p.Client]--; l.of[p.Client] == 0 {
			delete(l.of, p.Client)
		}
	}
	return nil
}

// ReadFields is readBody, and the object that the body is.
func (x *Exchange) ReadFields(w http.ResponseWriter, r *http.Request, p *Place) (body []byte, f *Fields, err error) {
	if body, err = x.readBody(w, r, p); err != nil {
		return nil, nil, err
	}
	f, err = ParseFields(body, "")
	return body, f, err
}

// readBody reads a JSON body: checked for type, size, UTF-8 and nesting, not
// yet for syntax. The caller releases the place, also after an error.
func (x *Exchange) readBody(w http.ResponseWriter, r *http.Request, p *Place) ([]byte, error) {
	if err := CheckJSON(r.Header); err != nil {
		return nil, err
	}
	p.Client = ClientOf(r)
	whole := false
	end := x.LimitReading(http.NewResponseController(w))
	defer func() { end(whole) }()

	tooLarge := control.Errorf(CodeTooLarge, "The body is larger than %d MiB; send a shorter request.", MaxBody>>20)
	if r.ContentLength > MaxBody {
		if r.Header.Get("Expect") == "" { // otherwise it was not sent yet
			_, _ = io.CopyN(io.Discard, r.Body, min(r.ContentLength, MaxBody+maxDrain))
		}
		return nil, tooLarge
	}
	var b bytes.Buffer // grows with what arrives, whatever length is claimed
	_, err := b.ReadFrom(io.LimitReader(r.Body, SmallBody+1))
	if err == nil && b.Len() > SmallBody {
		if err := x.Take(p); err != nil {
			_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
			return nil, err
		}
		_, err = b.ReadFrom(io.LimitReader(r.Body, MaxBody+1-SmallBody))
	}
	if err != nil {
		// The rest is not awaited before the answer.
		w.Header().Set("Connection", "close")
		return nil, x.bodyError(err)
	}
	if b.Len() > MaxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, tooLarge
	}
	whole = true
	return b.Bytes(), CheckText(b.Bytes())
}

// LimitUnread sets the time in which the body of a request is to arrive that no
// handler reads: net/http waits for it before it sends the answer.
func LimitUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return // none will; a deadline would end the request
	}
	// Errors of deadlines are those of writers without a connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(UnreadTimeout))
}

// LimitReading sets the time a body may take, which a drain shortens. The
// caller calls end once it has read it, whole or not: the time goes on for what
// is left of it.
func (x *Exchange) LimitReading(rc *http.ResponseController) (end func(whole bool)) {
	_ = rc.SetReadDeadline(time.Now().Add(BodyTimeout))
	shortened := make(chan struct{})
	keep := context.AfterFunc(x.Draining, func() {
		defer close(shortened)
		_ = rc.SetReadDeadline(time.Now().Add(drainBody))
	})
	return func(whole bool) {
		if !keep() {
			<-shortened
		}
		if whole {
			_ = rc.SetReadDeadline(time.Time{})
		}
	}
}

// bodyError says why a body did not arrive.
func (x *Exchange) bodyError(err error) error {
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return &control.Error{Code: control.CodeInvalid, Message: "The body did not arrive whole.", Err: err}
	case x.Draining.Err() != nil:
		return ErrStopping
	}
	return control.Errorf(codeTimeout, "The body did not arrive within %v; send the request again.", BodyTimeout)
}

// CheckJSON refuses every body that is not declared as plain JSON. A page of
// another site cannot declare it without asking first.
func CheckJSON(h http.Header) error {
	t, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || t != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return control.Errorf(CodeMediaType, "The body must be JSON in UTF-8: send it with Content-Type: application/json.")
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return control.Errorf(CodeMediaType, "The body must not be compressed (Content-Encoding: %s).", e)
	}
	return nil
}

func CheckText(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return control.Errorf(control.CodeInvalid, "The body is empty; send a JSON object.")
	}
	if !utf8.Valid(b) {
		return control.Errorf(control.CodeInvalid, "The body is not valid UTF-8.")
	}
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return control.Errorf(control.CodeInvalid, "The body nests deeper than %d levels.", maxNesting)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// ReadObject reads a body that is one JSON object.
func (x *Exchange) ReadObject(w http.ResponseWriter, r *http.Request) (*Fields, error) {
	var p Place
	defer p.Release()
	b, err := x.readBody(w, r, &p)
	if err != nil {
		return nil, err
	}
	return ParseFields(b, "")
}

// PlacesTaken returns how many large requests are being read. A client that holds no place
// must not stay in the table, and counts here if it does.
func (x *Exchange) PlacesTaken() int {
	l := &x.large
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.all, len(l.of))
}
