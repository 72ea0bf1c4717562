package wire

import (
	"context"
	"fmt"
	"log/slog"
)

// Limits of a line of the log, in bytes.
const (
	maxLogged = 2000     // of a message or a value
	maxStack  = 16 << 10 // of a stack
)

// ClipLog returns a handler that abridges messages and values. A name of a request, or an error
// that repeats one, must not fill a disk.
func ClipLog(to slog.Handler) slog.Handler { return clipHandler{to} }

type clipHandler struct{ slog.Handler }

func (h clipHandler) Handle(ctx context.Context, r slog.Record) error {
	clipped := slog.NewRecord(r.Time, r.Level, abridge(r.Message, maxLogged), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clipped.AddAttrs(clipAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, clipped)
}

func (h clipHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clipped := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clipped[i] = clipAttr(a)
	}
	return clipHandler{h.Handler.WithAttrs(clipped)}
}

func (h clipHandler) WithGroup(name string) slog.Handler {
	return clipHandler{h.Handler.WithGroup(name)}
}

func clipAttr(a slog.Attr) slog.Attr {
	hi := maxLogged
	if a.Key == "stack" {
		hi = maxStack
	}
	text := ""
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		var list []any
		for _, a := range v.Group() {
			list = append(list, clipAttr(a))
		}
		return slog.Group(a.Key, list...)
	case slog.KindString:
		text = v.String()
	case slog.KindAny:
		text = fmt.Sprint(v.Any())
	}
	if len(text) > hi {
		return slog.String(a.Key, abridge(text, hi))
	}
	return a
}
