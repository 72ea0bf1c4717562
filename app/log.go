package app

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/app/control"
)

const (
	maxLogLines = 500
	maxLogLine  = 2000 // bytes of a line's text
)

// A logRing keeps the latest lines of the log, for the page of help.
type logRing struct {
	mu    sync.Mutex
	lines []control.LogLine // oldest first
	seq   int64
	more  chan struct{} // closed with the next line
}

func newLogRing() *logRing { return &logRing{more: make(chan struct{})} }

// after returns the lines after one of them, and a channel that is closed with the next line.
func (r *logRing) after(seq int64) ([]control.LogLine, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.lines)
	for i > 0 && r.lines[i-1].Seq > seq {
		i--
	}
	return slices.Clone(r.lines[i:]), r.more
}

func (r *logRing) add(at time.Time, level slog.Level, text string) {
	if len(text) > maxLogLine {
		text = strings.ToValidUTF8(text[:maxLogLine], "") + "…"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	if len(r.lines) == maxLogLines {
		r.lines = slices.Delete(r.lines, 0, 1)
	}
	r.lines = append(r.lines, control.LogLine{Seq: r.seq, Time: at.UTC(), Level: level.String(),
		Text: text})
	close(r.more)
	r.more = make(chan struct{})
}

// A ringHandler writes lines from the level Info up into a ring.
type ringHandler struct {
	ring *logRing
	with func(slog.Handler) slog.Handler // attributes and groups of a logger; nil for none
}

// Enabled implements slog.Handler.
func (ringHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h ringHandler) Handle(ctx context.Context, rec slog.Record) error {
	var b bytes.Buffer
	var text slog.Handler = slog.NewTextHandler(&b,
		&slog.HandlerOptions{ReplaceAttr: withoutLineFields})
	if h.with != nil {
		text = h.with(text)
	}
	if err := text.Handle(ctx, rec); err != nil {
		return err
	}
	h.ring.add(rec.Time, rec.Level, strings.TrimSpace(rec.Message+" "+b.String()))
	return nil
}

// withoutLineFields drops the attributes that control.LogLine has fields for.
func withoutLineFields(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && slices.Contains([]string{slog.TimeKey, slog.LevelKey, slog.MessageKey},
		a.Key) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h ringHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.then(func(t slog.Handler) slog.Handler { return t.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h ringHandler) WithGroup(name string) slog.Handler {
	return h.then(func(t slog.Handler) slog.Handler { return t.WithGroup(name) })
}

func (h ringHandler) then(next func(slog.Handler) slog.Handler) slog.Handler {
	before := h.with
	return ringHandler{h.ring, func(t slog.Handler) slog.Handler {
		if before != nil {
			t = before(t)
		}
		return next(t)
	}}
}

// Log implements server.Help.
func (a *App) Log(after int64) (lines []control.LogLine, more <-chan struct{}) {
	return a.lines.after(after)
}
