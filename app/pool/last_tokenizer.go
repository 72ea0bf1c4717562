package pool

import (
	"sync"

	"tandem/engine/tokenizer"
)

// A lastTokenizer keeps the tokenizer of the model whose text was read last. Tokenizers take a
// while to load and tens of megabytes, and the next text is often of the same model.
type lastTokenizer struct {
	mu   sync.Mutex // held while one is loaded
	of   string     // its files, see tokenizerFiles
	last *tokenizer.Tokenizer
}

// get returns the tokenizer of some files, and calls read if the last one is of others.
func (l *lastTokenizer) get(
	of string, read func() (*tokenizer.Tokenizer, error),
) (*tokenizer.Tokenizer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of != l.of {
		t, err := read()
		if err != nil {
			return nil, err
		}
		l.of, l.last = of, t
	}
	return l.last, nil
}
