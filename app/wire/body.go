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
	maxDrain    = 64 << 20         // bytes read past MaxBody, so that the client hears why
	maxNesting  = 64               // levels of arrays and objects
	BodyTimeout = 60 * time.Second // until the whole body has arrived
	drainBody   = time.Second      // until the rest has arrived, once a drain began

	UnreadTimeout = 10 * time.Second // for a body that no handler reads, as of a refused request

	SmallBody   = 64 << 10 // bytes; a larger body needs a place
	LargePlaces = 16       // large requests that are read, rendered and tokenized at once

	// LargePerClient limits the places of one client, so that others get some.
	LargePerClient = LargePlaces * 3 / 4
)

// A Place is the right of a request to read a large body. The request holds it until its body is
// token ids, because such bodies take memory and time. The zero value is a small request's.
type Place struct {
	Client string // see ClientOf
	leave  func()
}

// Held reports whether a large request holds the place.
func (p *Place) Held() bool { return p.leave != nil }

func (p *Place) Release() {
	if p.leave != nil {
		p.leave()
	}
	p.leave = nil
}

// A placeTable counts the places that are held.
type placeTable struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by client
}

// An Exchange is what the routes of one server share to read bodies and to stream the progress of
// long work. Its methods may be called by many goroutines at once.
type Exchange struct {
	Log      *slog.Logger
	Draining context.Context // ends when the server drains
	large    placeTable
}

// NewExchange returns an Exchange that logs to log, until draining ends.
func NewExchange(log *slog.Logger, draining context.Context) *Exchange {
	return &Exchange{Log: log, Draining: draining, large: placeTable{of: map[string]int{}}}
}

// Take gives p a place, or fails at once if none is free: the client tries again.
func (x *Exchange) Take(p *Place) error {
	l := &x.large
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.of[p.Client] == LargePerClient:
		return control.Errorf(CodeTooMany,
			"%d large requests of this client are being read already; try again in a second.",
			LargePerClient)
	case l.all == LargePlaces:
		return control.Errorf(control.CodeNotReady,
			"%d large requests are being read already; try again in a second.", LargePlaces)
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

// ReadFields reads a body that is one JSON object, and returns it with its fields.
func (x *Exchange) ReadFields(w http.ResponseWriter, r *http.Request,
	p *Place) (body []byte, f *Fields, err error) {
	if body, err = x.readBody(w, r, p); err != nil {
		return nil, nil, err
	}
	f, err = ParseFields(body, "")
	return body, f, err
}

// readBody reads a JSON body. It checks type, size, UTF-8 and nesting, but not the syntax. The
// caller releases the place, also after an error.
func (x *Exchange) readBody(w http.ResponseWriter, r *http.Request, p *Place) ([]byte, error) {
	if err := CheckJSON(r.Header); err != nil {
		return nil, err
	}
	p.Client = ClientOf(r)
	whole := false
	end := x.LimitReading(http.NewResponseController(w))
	defer func() { end(whole) }()

	tooLarge := control.Errorf(CodeTooLarge,
		"The body is larger than %d MiB; send a shorter request.", MaxBody>>20)
	if r.ContentLength > MaxBody {
		if r.Header.Get("Expect") == "" { // otherwise the client has not sent it
			_, _ = io.CopyN(io.Discard, r.Body, min(r.ContentLength, MaxBody+maxDrain))
		}
		return nil, tooLarge
	}
	var b bytes.Buffer // grows with what arrives, whatever length the client states
	_, err := b.ReadFrom(io.LimitReader(r.Body, SmallBody+1))
	if err == nil && b.Len() > SmallBody {
		if err := x.Take(p); err != nil {
			_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
			return nil, err
		}
		_, err = b.ReadFrom(io.LimitReader(r.Body, MaxBody+1-SmallBody))
	}
	if err != nil {
		// The answer does not wait for the rest.
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

// LimitUnread limits the time for a body that no handler reads: net/http waits for it before it
// sends the answer.
func LimitUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return // there is no body; a deadline would end the request
	}
	// Only a writer without a connection returns an error here.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(UnreadTimeout))
}

// LimitReading limits the time for a body. A drain shortens it. The caller calls end after reading,
// and says whether it read the whole body. If not, the limit holds on for the rest.
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

// bodyError returns the reason why a body did not arrive.
func (x *Exchange) bodyError(err error) error {
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return &control.Error{Code: control.CodeInvalid, Message: "The body did not arrive whole.",
			Err: err}
	case x.Draining.Err() != nil:
		return ErrStopping
	}
	return control.Errorf(codeTimeout,
		"The body did not arrive within %v; send the request again.", BodyTimeout)
}

// CheckJSON refuses a body that is declared as something else than plain JSON. Nothing declared is
// taken as JSON, and so is the type that curl declares by itself. A form of a page cannot write
// JSON in that type. A page's script can, and can leave the type out, but then names its origin.
func CheckJSON(h http.Header) error {
	if declared := h.Get("Content-Type"); declared != "" {
		t, params, err := mime.ParseMediaType(declared)
		charset := strings.ToLower(params["charset"])
		if err != nil || t != "application/json" && t != "application/x-www-form-urlencoded" ||
			charset != "" && charset != "utf-8" && charset != "utf8" {
			return control.Errorf(CodeMediaType,
				"The body must be JSON in UTF-8: send it with Content-Type: application/json.")
		}
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return control.Errorf(CodeMediaType,
			"The body must not be compressed (Content-Encoding: %s).", e)
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
				return control.Errorf(control.CodeInvalid,
					"The body nests deeper than %d levels.", maxNesting)
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

// PlacesTaken returns how many places are in the table. A client that holds no place must not stay
// in it; one that does is counted here, so a test sees it.
func (x *Exchange) PlacesTaken() int {
	l := &x.large
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.all, len(l.of))
}
