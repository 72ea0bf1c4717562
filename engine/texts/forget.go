package texts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An Amount is what memories hold.
type Amount struct {
	Texts, Tokens int
	Bytes         int64 // of files
}

// paths lists the files of texts.
func (s *Store) paths() ([]string, error) {
	entries, err := os.ReadDir(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []string
	for _, e := range entries {
		path := filepath.Join(s.o.Dir, e.Name())
		switch {
		case strings.HasSuffix(e.Name(), fileSuffix):
			list = append(list, path)
		case strings.HasSuffix(e.Name(), partSuffix): // of a process that has ended
			err = errors.Join(err, os.Remove(path))
		}
	}
	return list, err
}

// Which chooses texts by whose they are and where they come from.
type Which func(Owner, Origin) bool

// Would returns what Forget would remove.
func (s *Store) Would(which Which) (Amount, error) {
	if s == nil {
		return Amount{}, nil
	}
	s.Flush()
	s.files.Lock()
	defer s.files.Unlock()
	gone, _, err := s.filterFiles(which, func(string, Owner, []record) error { return nil })
	return gone, err
}

// Forget removes texts, from memory and from the files. Requests that are open now add nothing. A
// file with a damaged owner is removed, because what is in it is not known. A file that cannot be
// read at the moment stays. After an error, everything is removed except what the error names.
func (s *Store) Forget(which Which) (Amount, error) {
	if s == nil {
		return Amount{}, nil
	}
	s.mu.Lock()
	s.forgot = time.Now()
	s.mu.Unlock()
	s.Flush() // what ended before is added, and found below
	s.files.Lock()
	defer s.files.Unlock()
	gone, held, err := s.filterFiles(which, func(path string, owner Owner, rest []record) error {
		if len(rest) > 0 {
			return writeFile(path, owner, rest)
		}
		return os.Remove(path)
	})
	for _, m := range s.allOpened() {
		// Texts that are in no file have no origin to choose by.
		if m.unwritten || m.kept != held[m.path] {
			m.fill(nil)
			s.load(m)
		}
	}
	return gone, err
}

func (s *Store) allOpened() []*memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}

// changed is the number of tokens of a file that without has changed.
const changed = -1

// filterFiles calls change with the records that stay of each file that has chosen ones, and counts the
// chosen ones. held has the tokens of each file that is as it was. After an error it goes on with
// the other files.
func (s *Store) filterFiles(which Which, change func(path string, owner Owner, rest []record) error) (
	gone Amount, held map[string]int, err error) {
	held = map[string]int{}
	paths, err := s.paths()
	if err != nil {
		return gone, held, err
	}
	for _, path := range paths {
		held[path] = changed
		c, e := readFile(path, true)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("a memory of texts cannot be read, and stays: %w", e))
			continue
		}
		var rest []record
		var chosen Amount
		for _, r := range c.list {
			if which(c.owner, r.Origin) {
				chosen.Texts, chosen.Tokens = chosen.Texts+1, chosen.Tokens+r.added()
			} else {
				rest = append(rest, r)
			}
		}
		tokens := countTokens(c.list)
		if chosen.Texts == 0 && c.damage == nil { // else the rest of it is not known
			held[path] = tokens
			continue
		}
		if e := change(path, c.owner, rest); e != nil {
			err = errors.Join(err, fmt.Errorf("a memory of texts cannot be changed: %w", e))
			continue
		}
		gone.Texts, gone.Tokens = gone.Texts+chosen.Texts, gone.Tokens+chosen.Tokens
		gone.Bytes += c.bytes * int64(chosen.Tokens) / int64(max(1, tokens))
	}
	return gone, held, err
}

func countTokens(list []record) (n int) {
	for _, r := range list {
		n += r.added()
	}
	return n
}
