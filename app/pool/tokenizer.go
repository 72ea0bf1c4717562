package pool

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/storage"
)

// A lastTokenizer keeps the tokenizer of the model whose text was read last. Tokenizers take a
// while to load and tens of megabytes, and the next text is often of the same model.
type lastTokenizer struct {
	mu   sync.Mutex // held while one is loaded
	of   string     // its place, with the date of the file
	last *tokenizer.Tokenizer
}

// Tokenizer returns the tokenizer of a model, in memory or not.
func (p *Pool) Tokenizer(ctx context.Context, id string) (*tokenizer.Tokenizer, error) {
	p.mu.Lock()
	if m := p.inMemory(id); m != nil {
		defer p.mu.Unlock()
		return m.bundle.Tokenizer, nil
	}
	p.mu.Unlock()
	row, err := p.db.Model(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &p.tokenizer
	l.mu.Lock()
	defer l.mu.Unlock()
	of, load := row.Path, func() (*tokenizer.Tokenizer, error) { return models.LoadTokenizer(row.Path) }
	if row.Source == storage.SourcePocket {
		of, load = row.Source, models.LoadPocketTokenizer
	} else if info, err := os.Stat(filepath.Join(row.Path, "tokenizer.json")); err == nil {
		of += info.ModTime().String() // the file may be another one now
	}
	if of != l.of {
		t, err := load()
		if err != nil {
			return nil, err
		}
		l.of, l.last = of, t
	}
	return l.last, nil
}
