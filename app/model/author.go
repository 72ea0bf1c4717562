package model

import (
	"context"
	"time"
)

// An Author is whose text a generation is, for the memory of texts.
type Author struct {
	Key     int64  // id of the client's key; 0 for all clients without one
	Client  string // as the history names it
	Run     int64  // its number in the history; 0 is none
	Arrived time.Time
}

// authorKey is the context key of an Author.
type authorKey struct{}

// WithAuthor returns a context in which a generation reads and extends the memory of its author's
// texts. Without one it does neither.
func WithAuthor(ctx context.Context, a Author) context.Context {
	return context.WithValue(ctx, authorKey{}, a)
}

// AuthorOf returns the author of a generation in ctx, if one is known.
func AuthorOf(ctx context.Context) (a Author, ok bool) {
	a, ok = ctx.Value(authorKey{}).(Author)
	return a, ok
}
