package app

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"tandem/app/control"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/storage"
)

// textEnd is how many tokens of a checkpoint's text are shown, unless all are asked
// for.
const textEnd = 200

// A lastTokenizer is that of the model whose text was read last: they take a while
// to load and tens of megabytes, and who reads one text reads the next.
type lastTokenizer struct {
	mu   sync.Mutex // held while one is loaded
	of   string     // where it lies, and as of when
	last *tokenizer.Tokenizer
}

// Checkpoint implements server.Checkpoints.
func (a *App) Checkpoint(ctx context.Context, name string, whole bool) (control.Checkpoint, error) {
	row, err := a.findCheckpoint(ctx, name)
	if err != nil {
		return control.Checkpoint{}, err
	}
	c := describeCheckpoint(row)
	t, err := a.tokenizerOf(ctx, row.Model)
	if err != nil {
		a.log.Info("the text of a checkpoint cannot be shown", "checkpoint", row.ID, "model", row.Model, "error", err)
		return c, nil
	}
	text, err := a.readText(row)
	if err != nil {
		return c, err
	}
	if !whole {
		text = text[max(0, len(text)-textEnd):]
	}
	c.Text = t.Decode(text, false)
	return c, nil
}

// tokenizerOf returns the tokenizer of a model, in memory or not.
func (a *App) tokenizerOf(ctx context.Context, id string) (*tokenizer.Tokenizer, error) {
	a.mu.Lock()
	if m := a.inMemory(id); m != nil {
		defer a.mu.Unlock()
		return m.bundle.Tokenizer, nil
	}
	a.mu.Unlock()
	row, err := a.db.Model(ctx, id)
	if err != nil {
		return nil, err
	}
	l := &a.tokenizer
	l.mu.Lock()
	defer l.mu.Unlock()
	of, load := row.Path, func() (*tokenizer.Tokenizer, error) { return models.LoadTokenizer(row.Path) }
	if row.Source == storage.SourcePocket {
		of, load = row.Source, models.LoadPocketTokenizer
	} else if info, err := os.Stat(filepath.Join(row.Path, "tokenizer.json")); err == nil {
		of += info.ModTime().String() // another may lie there now
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
