//go:build !scripted

package app

import (
	"context"
	"iter"

	"tandem/engine"
)

// A Script is empty but in a program that tests clients.
type Script struct{}

func (m *loaded) generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	return m.engine.Generate(ctx, r)
}
