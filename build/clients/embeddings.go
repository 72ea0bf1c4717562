package clients

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// textRoutes are the routes of the description that only a model of embeddings answers.
var textRoutes = []string{"/v1/embeddings", "/v1/rerank", "/v2/rerank", "/api/embed", "/api/embeddings"}

// embeddings lets the openai client ask for embeddings, cohere's for a rerank, and schemathesis try
// their description.
func (t *clientTier) embeddings(ctx context.Context) error {
	embedder, err := t.textModel(ctx, "embedder")
	if err != nil {
		return err
	}
	reranker, err := t.textModel(ctx, "Qwen3-Reranker-tiny")
	if err != nil {
		return err
	}
	return errors.Join(
		t.against(ctx, []string{"--model", embedder}, func(url string) error {
			return errors.Join(
				t.client(ctx, "openai, Python", t.python, embeddingsScript, url),
				t.fuzzRoutes(ctx, url, "the description of embeddings", "20", len(textRoutes),
					textRoutes...))
		}),
		t.against(ctx, []string{"--model", reranker}, func(url string) error {
			return t.client(ctx, "cohere, Python", t.framed, clientsDir+"/cohere_client.py", url)
		}))
}

const embeddingsScript = clientsDir + "/openai_embeddings.py"

// textModel makes a model for embeddings or, by its name, for reranking, and returns its folder. It
// has random numbers, because none is small enough to download for this.
func (t *clientTier) textModel(ctx context.Context, name string) (string, error) {
	dir, err := os.MkdirTemp(t.dir, "model-")
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, name)
	_, err = t.Output(t.Command(ctx, t.python, filepath.Join(t.Root, embeddingsScript), "--make", dir))
	return dir, err
}
