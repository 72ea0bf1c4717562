package main

import (
	"context"
	"path/filepath"
)

// embeddings has the openai client ask for embeddings. The model is made on the spot, of random numbers: none is small
// enough to be downloaded for it.
func (t *clientTier) embeddings(ctx context.Context) error {
	script, model := filepath.Join(t.root, clientsDir, "openai_embeddings.py"), filepath.Join(t.dir, "embedder")
	if _, err := t.output(t.command(ctx, t.python, script, "--make", model)); err != nil {
		return err
	}
	return t.against(ctx, []string{"--model", model}, func(url string) error {
		return t.client(ctx, "openai, Python", t.python, script, url)
	})
}
