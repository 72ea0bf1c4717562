//go:build !scripted

package pool

import (
	"context"
	"iter"

	"tandem/engine"
)

// A Script is empty, except in a program that tests clients.
type Script struct{}

func (m *Model) generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	return m.engine.Generate(ctx, r)
}
