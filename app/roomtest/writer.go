package roomtest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"time"

	"tandem/engine"
)

// A Writer is a connection whose client reads when the test says so.
type Writer struct {
	Headers                       http.Header
	Status                        int
	Start                         time.Time
	Events                        []string // "seconds: text" of each flush
	Pending                       bytes.Buffer
	Blocked                       bool // the client reads nothing
	Deadline                      time.Time
	ReadDeadlines, WriteDeadlines int // deadlines set
	ReadBy                        time.Time
}

// NewWriter returns a Writer that begins now.
func NewWriter() *Writer {
	return &Writer{Headers: http.Header{}, Start: time.Now()}
}

func (w *Writer) Header() http.Header { return w.Headers }

func (w *Writer) WriteHeader(status int) { w.Status = status }

func (w *Writer) SetReadDeadline(t time.Time) error {
	w.ReadBy, w.ReadDeadlines = t, w.ReadDeadlines+1
	return nil
}

func (w *Writer) SetWriteDeadline(t time.Time) error {
	w.Deadline, w.WriteDeadlines = t, w.WriteDeadlines+1
	return nil
}

func (w *Writer) Write(b []byte) (int, error) {
	if w.Blocked {
		time.Sleep(time.Until(w.Deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return w.Pending.Write(b)
}

func (w *Writer) FlushError() error {
	w.Events = append(w.Events, fmt.Sprintf("%v: %s",
		time.Since(w.Start), strings.TrimSpace(w.Pending.String())))
	w.Pending.Reset()
	return nil
}

// Script returns a Generate that calls f to yield the texts of its tokens.
func Script(f func(ctx context.Context, yield func(string, error) bool)) func(context.Context,
	engine.Request) iter.Seq2[engine.Token, error] {
	return func(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
		return func(yield func(engine.Token, error) bool) {
			st := engine.Stats{PromptTokens: len(r.Prompt)}
			defer func() { r.Done(st) }()
			f(ctx, func(text string, err error) bool {
				if err == nil {
					st.CompletionTokens++
				}
				return yield(engine.Token{Text: text}, err)
			})
		}
	}
}
