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
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"tandem/app/control"
	"tandem/engine"
)

const (
	MaxBody     = 32 << 20         // bytes
	maxDrain    = 64 << 20         // bytes read past MaxBody, so that the client hears why
	maxNesting  = 64               // levels of arrays and objects
	BodyTimeout = 60 * time.Second // until the whole body has arrived
	drainBody   = time.Second      // until the rest has arrived, once a drain began

	UnreadTimeout = 10 * time.Second // for a body that no handler reads, as of a refused request

	SmallBody   = 64 << 10  // bytes; a larger body needs a reservation
	LargeBytes  = 256 << 20 // of all large bodies of requests in flight and waiting
	OthersBytes = 64 << 20  // beyond those, for clients with no more than that

	// tokenizeBytes limits the bytes of large bodies that are rendered and tokenized at once, which
	// takes several times their memory.
	tokenizeBytes = 64 << 20

	// hugeBody is the size in bytes above which garbage is collected as a body grows.
	hugeBody = 8 << 20
)

// A Reservation is the right of a request to hold the bytes of a large body, unpacked, until it ends.
// The zero value is a small request's.
type Reservation struct {
	Client string // see ClientOf
	table  *reservations
	bytes  int
}

func (p *Reservation) Release() {
	if p.table == nil {
		return
	}
	p.table.shrink(p, p.bytes)
}

// reservations count the reserved bytes.
type reservations struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by client
}

// add changes the bytes of a reservation. The caller holds l.mu.
func (l *reservations) add(p *Reservation, bytes int) {
	p.table, p.bytes = l, p.bytes+bytes
	l.all += bytes
	if l.of[p.Client] += bytes; l.of[p.Client] == 0 {
		delete(l.of, p.Client)
	}
}

// shrink gives bytes of a reservation back.
func (l *reservations) shrink(p *Reservation, bytes int) {
	if bytes == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(p, -bytes)
}

// An Exchange is what the routes of one server share to read bodies and to stream the progress of
// long work. Its methods may be called by many goroutines at once.
type Exchange struct {
	Log      *slog.Logger
	Draining context.Context // ends when the server drains
	large    reservations

	unpacking  chan struct{}       // has a value for each body that is being unpacked
	tokenizing *semaphore.Weighted // of tokenizeBytes
}

// NewExchange returns an Exchange that logs to log, until draining ends.
func NewExchange(log *slog.Logger, draining context.Context) *Exchange {
	return &Exchange{Log: log, Draining: draining, large: reservations{of: map[string]int{}},
		unpacking: make(chan struct{}, 2), tokenizing: semaphore.NewWeighted(tokenizeBytes)}
}

// Grow reserves more bytes for p, or fails immediately if they are not free: the client tries again.
func (x *Exchange) Grow(p *Reservation, bytes int) error {
	l := &x.large
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.all + bytes; all > LargeBytes &&
		(all > LargeBytes+OthersBytes || l.of[p.Client]+bytes > OthersBytes) {
		return control.Errorf(control.Code(engine.CodeQueueFull),
			"The large requests in flight and waiting would take more than %d MiB; try again in a "+
				"second.", LargeBytes>>20)
	}
	l.add(p, bytes)
	return nil
}

// WaitTurn waits until a body that is read may be rendered and tokenized beside those of others. The
// caller calls end once it is token ids.
func (x *Exchange) WaitTurn(ctx context.Context, p *Reservation) (end func(), err error) {
	bytes := int64(min(p.bytes, tokenizeBytes))
	if bytes == 0 { // of a small body, which does not wait for large ones
		return func() {}, nil
	}
	if x.tokenizing.Acquire(ctx, bytes) != nil {
		return nil, context.Cause(ctx)
	}
	return func() { x.tokenizing.Release(bytes) }, nil
}

// ReadFields reads a body that is one JSON object, and returns it with its fields.
func (x *Exchange) ReadFields(w http.ResponseWriter, r *http.Request,
	p *Reservation) (body []byte, f *Fields, err error) {
	if body, err = x.readBody(w, r, p); err != nil {
		return nil, nil, err
	}
	f, err = ParseFields(body, "")
	return body, f, err
}

var errTooLarge = control.Errorf(CodeTooLarge,
	"The body is larger than %d MiB; send a shorter request.", MaxBody>>20)

// readBody reads a JSON body, which may be packed. It checks type, size, UTF-8 and nesting, but not
// the syntax. The caller releases the reservation, also after an error.
func (x *Exchange) readBody(w http.ResponseWriter, r *http.Request, p *Reservation) ([]byte, error) {
	if err := CheckJSON(r.Header); err != nil {
		return nil, err
	}
	p.Client = ClientOf(r)
	whole := false
	end := x.LimitReading(http.NewResponseController(w))
	defer func() { end(whole) }()

	if r.ContentLength > MaxBody {
		if r.Header.Get("Expect") == "" { // otherwise the client has not sent it
			_, _ = io.CopyN(io.Discard, r.Body, min(r.ContentLength, MaxBody+maxDrain))
		}
		return nil, errTooLarge
	}
	b, err := x.readGrowing(r.Body, r.ContentLength, p)
	if e, ok := errors.AsType[*control.Error](err); ok { // no bytes are free
		_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
		return nil, e
	}
	if err != nil {
		// The answer does not wait for the rest.
		w.Header().Set("Connection", "close")
		return nil, x.bodyError(err)
	}
	if len(b) > MaxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, errTooLarge
	}
	whole = true
	if b, err = x.Unpack(r.Header, b, p); err != nil {
		return nil, err
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // the mark that Windows programs put before UTF-8
	return b, CheckText(b)
}

// readGrowing reads at most MaxBody+1 bytes into memory that grows with what arrives, whatever length
// the client states, and reserves that memory. A length below 0 is not known.
func (x *Exchange) readGrowing(r io.Reader, length int64, p *Reservation) ([]byte, error) {
	hi, before := MaxBody+1, p.bytes
	if length >= 0 {
		hi = int(min(length, MaxBody)) + 1 // one more, so that the end is read
	}
	b := make([]byte, 0, min(hi, 512))
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF || err == nil && len(b) == hi:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) < cap(b):
			continue
		}
		size := min(2*cap(b), hi)
		if cap(b) >= hi/8 && length >= 0 {
			size = hi // so that little is copied, and little is garbage
		}
		if size > SmallBody+1 {
			if err := x.Grow(p, before+size-p.bytes); err != nil {
				return nil, err
			}
		}
		b = append(make([]byte, 0, size), b...)
		if size > hugeBody {
			runtime.GC()
		}
	}
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
		return control.Plain(control.CodeInvalid, "The body did not arrive whole; send the request again.").Because(err)
	case x.Draining.Err() != nil:
		return ErrStopping
	}
	return control.Errorf(codeTimeout,
		"The body did not arrive within %v; send the request again.", BodyTimeout)
}

// jsonTypes are types of a body that is read as JSON. isJSON knows more of them by their end.
var jsonTypes = []string{"application/json", "text/json", "application/x-www-form-urlencoded",
	"application/octet-stream"}

// isJSON reports whether a body of a type, in lower case, is read as JSON.
func isJSON(t string) bool {
	sub, ok := strings.CutPrefix(t, "application/")
	return slices.Contains(jsonTypes, t) || ok && len(sub) > len("+json") &&
		strings.HasSuffix(sub, "+json")
}

// CheckJSON refuses a body that is declared as something else than JSON. Nothing declared is
// taken as JSON, and so are the types that curl and aiohttp declare by themselves. A form of a page
// cannot write JSON in them. A page's script can, and can leave the type out, but then names its
// origin.
func CheckJSON(h http.Header) error {
	if declared := h.Get("Content-Type"); declared != "" {
		t, params, err := mime.ParseMediaType(declared)
		charset := strings.ToLower(params["charset"])
		if err != nil || !isJSON(t) ||
			charset != "" && charset != "utf-8" && charset != "utf8" {
			return control.Errorf(CodeMediaType,
				"The body must be JSON in UTF-8: send it with Content-Type: application/json.")
		}
	}
	if e := encodingOf(h); e != "" && unpackers[e] == nil || len(h.Values("Content-Encoding")) > 1 {
		return control.Errorf(CodeMediaType,
			"The body may be packed with gzip, deflate or zstd (Content-Encoding: %s).", Clip(e))
	}
	return nil
}

// CheckText refuses a text that is empty, not UTF-8, nested too deeply, or of too many values.
func CheckText(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return control.Errorf(control.CodeInvalid, "The body is empty; send a JSON object.")
	}
	if form, remedy := otherForm(b); form != "" {
		return control.Errorf(control.CodeInvalid, "The body is %s, not JSON in UTF-8: send it %s.", form, remedy)
	}
	if !utf8.Valid(b) {
		return control.Errorf(control.CodeInvalid, "The body is not valid UTF-8; send JSON in UTF-8.")
	}
	switch values, nesting := CountValues(b); {
	case nesting > maxNesting:
		return control.Errorf(control.CodeInvalid,
			"The body nests deeper than %d levels.", maxNesting)
	case values > MaxValues:
		return control.Errorf(control.CodeInvalid,
			"The body holds %d values, token ids aside; %d are allowed.", values, MaxValues)
	}
	return nil
}

// otherForms are what a body begins with that is packed, or of another encoding.
var otherForms = []struct{ begins, form, remedy string }{
	{"\x1f\x8b", "packed with gzip", "with Content-Encoding: gzip, or unpacked"},
	{"\x28\xb5\x2f\xfd", "packed with zstd", "with Content-Encoding: zstd, or unpacked"},
	{"\xff\xfe", "in UTF-16 or UTF-32", "in UTF-8"},
	{"\xfe\xff", "in UTF-16", "in UTF-8"},
	{"\x00", "in UTF-16 or UTF-32", "in UTF-8"},
	{"{\x00", "in UTF-16 or UTF-32", "in UTF-8"},
}

// otherForm returns what a body is instead of UTF-8, and how to send it; "" if that is not known.
func otherForm(b []byte) (form, remedy control.Word) {
	for _, x := range otherForms {
		if bytes.HasPrefix(b, []byte(x.begins)) {
			return control.Word(x.form), control.Word(x.remedy)
		}
	}
	if len(b) > 1 && b[0] == 0x78 && (int(b[0])<<8|int(b[1]))%31 == 0 && !utf8.Valid(b) { // zlib's head
		return "packed with deflate", "with Content-Encoding: deflate, or unpacked"
	}
	return "", ""
}

// ReadObject reads a body that is one JSON object.
func (x *Exchange) ReadObject(w http.ResponseWriter, r *http.Request) (*Fields, error) {
	var p Reservation
	defer p.Release()
	b, err := x.readBody(w, r, &p)
	if err != nil {
		return nil, err
	}
	return ParseFields(b, "")
}

// BytesTaken returns the reserved bytes, for tests. It is not 0 if a client without any is left in the
// table.
func (x *Exchange) BytesTaken() int {
	l := &x.large
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.all, len(l.of))
}
