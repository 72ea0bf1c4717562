package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/app/control"
)

const (
	maxBody     = 32 << 20         // bytes
	maxDrain    = 64 << 20         // bytes read past maxBody so that the client hears why
	maxNesting  = 64               // levels of arrays and objects
	bodyTimeout = 60 * time.Second // for the whole body to arrive
	drainBody   = time.Second      // for what is missing of it once a drain began

	unreadTimeout = 10 * time.Second // for a body that nobody reads, as that of a request that is refused

	smallBody   = 64 << 10 // bytes; larger ones take a place
	largePlaces = 16       // large requests read, rendered and tokenized at once

	// largePerClient is how many of these one client may have, so that it leaves some to others.
	largePerClient = largePlaces * 3 / 4
)

// A place is held by a request with a large body until it is token ids: such
// bodies, and what they become on the way, take memory and time. The zero
// value is a small request's.
type place struct {
	client string // see clientOf
	leave  func()
}

func (p *place) release() {
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

// take waits for nothing: who finds no place tries again.
func (s *Server) take(p *place) error {
	l := &s.large
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.of[p.client] == largePerClient:
		return control.Errorf(codeTooMany, "%d large requests of this client are being read already; try again in a second.", largePerClient)
	case l.all == largePlaces:
		return control.Errorf(control.CodeNotReady, "%d large requests are being read already; try again in a second.", largePlaces)
	}
	l.all++
	l.of[p.client]++
	p.leave = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all--
		if l.of[p.client]--; l.of[p.client] == 0 {
			delete(l.of, p.client)
		}
	}
	return nil
}

// readFields is readBody, and the object that the body is.
func (s *Server) readFields(w http.ResponseWriter, r *http.Request, p *place) (body []byte, f *fields, err error) {
	if body, err = s.readBody(w, r, p); err != nil {
		return nil, nil, err
	}
	f, err = parseFields(body, "")
	return body, f, err
}

// readBody reads a JSON body: checked for type, size, UTF-8 and nesting, not
// yet for syntax. The caller releases the place, also after an error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, p *place) ([]byte, error) {
	if err := checkJSON(r.Header); err != nil {
		return nil, err
	}
	p.client = clientOf(r)
	whole := false
	end := s.limitReading(http.NewResponseController(w))
	defer func() { end(whole) }()

	tooLarge := control.Errorf(codeTooLarge, "The body is larger than %d MiB; send a shorter request.", maxBody>>20)
	if r.ContentLength > maxBody {
		if r.Header.Get("Expect") == "" { // otherwise it was not sent yet
			_, _ = io.CopyN(io.Discard, r.Body, min(r.ContentLength, maxBody+maxDrain))
		}
		return nil, tooLarge
	}
	var b bytes.Buffer // grows with what arrives, whatever length is claimed
	_, err := b.ReadFrom(io.LimitReader(r.Body, smallBody+1))
	if err == nil && b.Len() > smallBody {
		if err := s.take(p); err != nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxBody)
			return nil, err
		}
		_, err = b.ReadFrom(io.LimitReader(r.Body, maxBody+1-smallBody))
	}
	if err != nil {
		// The rest is not awaited before the answer.
		w.Header().Set("Connection", "close")
		return nil, s.bodyError(err)
	}
	if b.Len() > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, tooLarge
	}
	whole = true
	return b.Bytes(), checkText(b.Bytes())
}

// limitUnread sets the time in which the body of a request is to arrive that no
// handler reads: net/http waits for it before it sends the answer.
func limitUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return // none will; a deadline would end the request
	}
	// Errors of deadlines are those of writers without a connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout))
}

// limitReading sets the time a body may take, which a drain shortens. The
// caller calls end once it has read it, whole or not: the time goes on for what
// is left of it.
func (s *Server) limitReading(rc *http.ResponseController) (end func(whole bool)) {
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	shortened := make(chan struct{})
	keep := context.AfterFunc(s.draining, func() {
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
func (s *Server) bodyError(err error) error {
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return &control.Error{Code: control.CodeInvalid, Message: "The body did not arrive whole.", Err: err}
	case s.draining.Err() != nil:
		return errStopping
	}
	return control.Errorf(codeTimeout, "The body did not arrive within %v; send the request again.", bodyTimeout)
}

// checkJSON refuses every body that is not declared as plain JSON. A page of
// another site cannot declare it without asking first.
func checkJSON(h http.Header) error {
	t, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || t != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return control.Errorf(codeMediaType, "The body must be JSON in UTF-8: send it with Content-Type: application/json.")
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return control.Errorf(codeMediaType, "The body must not be compressed (Content-Encoding: %s).", e)
	}
	return nil
}

func checkText(b []byte) error {
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

// fields is a JSON object whose values are read one by one, by exact name, so
// that an error names its field. The first error sticks. A field that is null
// counts as absent, and unknown fields are nobody's business.
type fields struct {
	values map[string]json.RawMessage
	path   string // before the names in errors, e.g. "messages[0]."
	err    error
}

// parseFields reads one object and nothing after it.
func parseFields(b []byte, path string) (*fields, error) {
	where := "The body"
	if path != "" {
		where = strings.TrimSuffix(path, ".")
	}
	f := &fields{values: map[string]json.RawMessage{}, path: path}
	err := eachMember(b, func(key string, value json.RawMessage) error {
		if _, twice := f.values[key]; twice {
			// A name of the client's own is no param: the history keeps those.
			return invalid(strings.TrimSuffix(path, "."), "%s names %q twice.", control.Word(where), key)
		}
		f.values[key] = value
		return nil
	})
	if _, ok := errors.AsType[*control.Error](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, invalid(strings.TrimSuffix(path, "."), "%s is not a valid JSON object: %v.", control.Word(where), err)
	}
	return f, nil
}

// eachMember calls f for each member of the object b, in b's order.
func eachMember(b []byte, f func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil {
		return syntax(err)
	}
	if t != json.Delim('{') {
		return errors.New("it does not start with {")
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return syntax(err)
		}
		key, ok := k.(string)
		if !ok {
			return errors.New("a name is not a string")
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return syntax(err)
		}
		if err := f(key, v); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return syntax(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows it at byte %d", d.InputOffset())
	}
	return nil
}

func syntax(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w at byte %d", err, e.Offset)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends early")
	}
	return err
}

func (f *fields) fail(key, format string, args ...any) {
	if f.err == nil {
		f.err = invalid(f.path+key, "%s "+format, append([]any{f.path + key}, args...)...)
	}
}

// raw returns the value, or nil if it is absent.
func (f *fields) raw(key string) json.RawMessage {
	v := f.values[key]
	if string(v) == "null" {
		return nil
	}
	return v
}

func isNumber(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

func (f *fields) string(key string) (s string) {
	if v := f.raw(key); v != nil && json.Unmarshal(v, &s) != nil {
		f.fail(key, "must be a string.")
	}
	return s
}

func (f *fields) bool(key string) (b bool) {
	if v := f.raw(key); v != nil && json.Unmarshal(v, &b) != nil {
		f.fail(key, "must be true or false.")
	}
	return b
}

// optional reads a field, or returns nil if it is absent.
func optional[T any](f *fields, key string, read func(key string) T) *T {
	if f.raw(key) == nil {
		return nil
	}
	return new(read(key))
}

// number returns nil for an absent field.
func (f *fields) number(key string, least, most float64) *float64 {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	x, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil || !isNumber(v):
		f.fail(key, "must be a number.")
	case x < least && most == math.MaxFloat64:
		f.fail(key, "must be at least %v, not %s.", least, v)
	case x < least || x > most:
		f.fail(key, "must lie between %v and %v, not %s.", least, most, v)
	default:
		return &x
	}
	return nil
}

// int returns nil for an absent field.
func (f *fields) int(key string, least, most int) *int {
	v := f.raw(key)
	if v == nil {
		return nil
	}
	x, ok := wholeNumber(v)
	switch {
	case !ok:
		f.fail(key, "must be a whole number.")
	case x < int64(least) && most == math.MaxInt32:
		f.fail(key, "must be at least %d, not %d.", least, x)
	case x < int64(least) || x > int64(most):
		f.fail(key, "must lie between %d and %d, not %d.", least, most, x)
	default:
		return new(int(x))
	}
	return nil
}

// wholeNumber reads an integer, also one that a client wrote as 16.0.
func wholeNumber(v json.RawMessage) (int64, bool) {
	if !isNumber(v) {
		return 0, false
	}
	if x, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return x, true
	}
	x, err := strconv.ParseFloat(string(v), 64)
	return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53
}

// strings reads a string or a list of strings.
func (f *fields) strings(key string) []string {
	v := f.raw(key)
	var one string
	var many []string
	switch {
	case v == nil:
	case json.Unmarshal(v, &one) == nil:
		return []string{one}
	case json.Unmarshal(v, &many) != nil:
		f.fail(key, "must be a string or a list of strings.")
	}
	return many
}

// object returns nil for an absent field.
func (f *fields) object(key string) *fields {
	v := f.raw(key)
	if v == nil || f.err != nil {
		return nil
	}
	o, err := parseFields(v, f.path+key+".")
	if err != nil {
		f.err = err
		return nil
	}
	return o
}

// take keeps the first error of a nested object as this one's.
func (f *fields) take(o *fields) {
	if f.err == nil && o != nil {
		f.err = o.err
	}
}
