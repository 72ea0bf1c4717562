package models

import (
	"slices"
	"sync"
)

// A FileCache opens the files of models and drafters. It returns the same [Files] for a path until one of
// them has changed. The zero FileCache is ready, and safe for use by several goroutines.
//
// It keeps little of each path: config.json, headers of up to 1 MiB, and what follows from them.
// What is larger, as tokenizers and the metadata of GGUF files are, it keeps of the two paths that needed
// it last, such as a model and its drafter.
type FileCache struct {
	opened Memo[*Files] // by path, or the name of a built-in one

	mu    sync.Mutex
	large []*Files // that keep something large, the last one last
}

// maxLarge is of how many paths a FileCache keeps what is large.
const maxLarge = 2

// Open returns the files at a path, which is a folder or a GGUF file, or those of a built-in model or
// drafter by its name.
func (c *FileCache) Open(path string) (*Files, error) {
	if fsys := builtIn(path); fsys != nil { // they are always the same
		return c.get(path, path, func() (*Files, error) { return OpenFS(fsys, path), nil })
	}
	return c.OpenBy(path, func() (*Files, error) { return Open(path) })
}

// OpenBy is Open with another function that opens the files at a path.
func (c *FileCache) OpenBy(path string, open func() (*Files, error)) (*Files, error) {
	return c.get(path, FileDates(path), open)
}

func (c *FileCache) get(path, dates string, open func() (*Files, error)) (*Files, error) {
	return c.opened.Get(path, dates, func() (*Files, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		if f.used = c.useLarge; f.path != "" {
			f.useLarge()
		}
		return f, nil
	})
}

// useLarge notes that files keep something large, and lets others drop theirs.
func (c *FileCache) useLarge(f *Files) {
	c.mu.Lock()
	c.large = append(slices.DeleteFunc(c.large, func(o *Files) bool { return o == f }), f)
	var dropped []*Files
	if n := len(c.large) - maxLarge; n > 0 {
		dropped = slices.Clone(c.large[:n])
		c.large = slices.Delete(c.large, 0, n)
	}
	c.mu.Unlock()
	for _, o := range dropped {
		o.DropLarge()
	}
}

// DropLarge forgets what is large of all paths.
func (c *FileCache) DropLarge() {
	c.mu.Lock()
	large := c.large
	c.large = nil
	c.mu.Unlock()
	for _, f := range large {
		f.DropLarge()
	}
}
