package texts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Kept is what is kept of one owner.
type Kept struct {
	Owner
	Amount
	Last time.Time // when the newest text began
}

// A listing is what a file held when it was last read.
type listing struct {
	size int64
	date time.Time
	kept Kept
	good bool // its content was read, perhaps without a damaged end
}

// List returns what the files hold, by owner, with all texts of requests that have ended. Files
// that cannot be read are left out. It reads only files that have changed since the last call, so
// that loads rarely wait for it.
func (s *Store) List() ([]Kept, error) {
	if s == nil {
		return nil, nil
	}
	s.Flush()
	s.listing.Lock()
	defer s.listing.Unlock()
	entries, err := os.ReadDir(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	before := s.listed
	s.listed = map[string]listing{}
	var all []Kept
	for _, e := range entries {
		info, failed := e.Info()
		if failed != nil || !strings.HasSuffix(e.Name(), fileSuffix) {
			continue // its next use says why
		}
		l, known := before[e.Name()]
		if !known || l.size != info.Size() || !l.date.Equal(info.ModTime()) {
			l = s.read(e.Name(), info)
		}
		if s.listed[e.Name()] = l; l.good {
			all = append(all, l.kept)
		}
	}
	return all, err
}

// read reads a file for List. One that cannot be read now is read again the next time.
func (s *Store) read(name string, info fs.FileInfo) listing {
	s.files.Lock()
	defer s.files.Unlock()
	c, err := readFile(filepath.Join(s.o.Dir, name), false)
	if err != nil {
		return listing{size: -1}
	}
	k := Kept{Owner: c.owner, Amount: Amount{len(c.list), countTokens(c.list), c.bytes}}
	for _, r := range c.list {
		if r.Started.After(k.Last) {
			k.Last = r.Started
		}
	}
	return listing{size: info.Size(), date: info.ModTime(), kept: k, good: c.damage == nil || len(c.list) > 0}
}
