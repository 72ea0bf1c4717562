package clients

import (
	"context"
	"errors"
	"path/filepath"
)

// textRoutes are the routes of the description that only a model of embeddings answers.
var textRoutes = []string{"/v1/embeddings", "/v1/rerank", "/api/embed", "/api/embeddings"}

// embeddings lets the openai client ask for embeddings, and schemathesis try their description. It
// makes a model of random numbers, because none is small enough to download for this.
func (t *clientTier) embeddings(ctx context.Context) error {
	script, model := filepath.Join(t.Root, clientsDir, "openai_embeddings.py"),
		filepath.Join(t.dir, "embedder")
	if _, err := t.Output(t.Command(ctx, t.python, script, "--make", model)); err != nil {
		return err
	}
	return t.against(ctx, []string{"--model", model}, func(url string) error {
		return errors.Join(
			t.client(ctx, "openai, Python", t.python, script, url),
			t.fuzzRoutes(ctx, url, "the description of embeddings", "20", len(textRoutes),
				textRoutes...))
	})
}
