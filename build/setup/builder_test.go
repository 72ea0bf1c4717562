package setup

import (
	"io"
	"testing"
)

func newTestBuilder(t *testing.T) *Builder {
	return &Builder{Root: t.TempDir(), Cache: Cache{Dir: t.TempDir()}, Out: io.Discard}
}
