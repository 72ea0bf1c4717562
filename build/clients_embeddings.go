package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// embeddingsClient has the official openai Python client ask for embeddings. The model is made on the spot, of random
// numbers: none is small enough to be downloaded for it.
func (b *builder) embeddingsClient(ctx context.Context, python, program string) error {
	script := filepath.Join("build", "clients", "openai_embeddings.py")
	dir, err := os.MkdirTemp("", "tandem-embedder-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model := filepath.Join(dir, "embedder")
	if err := b.watched(b.command(ctx, python, script, "--make", model)); err != nil {
		return err
	}
	s, err := b.startServer(ctx, program, "--model", model)
	if err != nil {
		return err
	}
	start := time.Now()
	err = errors.Join(b.watched(b.command(ctx, python, script, s.url)), s.stop())
	if err == nil {
		fmt.Fprintf(b.out, "ok    %7.1f s  %s\n", time.Since(start).Seconds(), script)
	}
	return err
}
