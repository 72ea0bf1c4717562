package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Kind says what a checkpoint's tokens are.
type Kind string

const (
	KindPrompt Kind = "prompt"
	KindAnswer Kind = "answer" // generated, at least in part
)

// An Entry says what a file holds. All of it but Bytes and Digest stands in the
// file's header.
type Entry struct {
	ID     string // the file's name is made of it
	Parent string // file that has the tokens before From; empty at the beginning of the text
	Key    string // StoreOptions.Key of the store that wrote it
	// Context is likewise StoreOptions.Context; empty if no context of a draft
	// is in it.
	Context  string
	Kind     Kind
	From, To int   // positions of its tokens in the text: [From, To)
	Run      int64 // Label.Run of the sequence that computed it
	Bytes    int64 // of the file
	Digest   string
	Created  time.Time

	Gone string // of Known: why there is no such file; empty if there should be
}

// ErrForgotten is what an index says to a file whose text was forgotten while it was
// made.
var ErrForgotten = errors.New("its text was forgotten")

// A Use is the restoration of a text's beginning.
type Use struct {
	IDs    []string // of the files it is in, the first tokens' first
	Tokens int      // restored
	Took   time.Duration
}

// An Index keeps what is known of files where it can be asked for. Its methods
// are called by goroutines of the store. An error is logged, and nothing else
// comes of it.
type Index interface {
	// Known returns what there is of this model, under all keys, with what is
	// gone.
	Known() ([]Entry, error)
	// Add says that a file is on disk from now on. ErrForgotten has it deleted.
	Add(Entry) error
	// Use says that a text was restored from files.
	Use(Use) error
	// Lose says that a file is gone or of no use, and why.
	Lose(id, why string) error
	// ByWorth returns the files that may be deleted to make room, of all keys,
	// that which is missed least first, and those that are to stay.
	ByWorth() (list, stay []Entry, err error)
}

// FilePath returns where the file of an entry lies in a folder.
func FilePath(dir, id string) string { return filepath.Join(dir, id+fileSuffix) }

// newID is that of a file that is begun at a time: its milliseconds, so that ids
// sort by time and can be typed.
func newID(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 36) }

// createdAt is the time of an id, zero if it is none.
func createdAt(id string) time.Time {
	ms, err := strconv.ParseInt(id, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// idOf is the id that a file's name is made of.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), fileSuffix) }

// entry is that of a header.
func (h *header) entry(path string, bytes int64) Entry {
	e := Entry{
		ID: idOf(path), Parent: h.Parent, Key: h.Key, Kind: h.Kind, From: h.From, To: len(h.Tokens), Run: h.Run,
		Bytes: bytes, Digest: digestOf(h.Tokens), Created: createdAt(idOf(path)),
	}
	for _, s := range h.Spans[min(h.Needed, len(h.Spans)):] {
		if s != nil {
			e.Context = h.Context
		}
	}
	return e
}

// List returns the ids of the files in a folder, and the paths of what is left of
// files that were being written. A folder that is not there has none.
func List(dir string) (ids, parts []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), fileSuffix):
			ids = append(ids, idOf(e.Name()))
		case strings.HasSuffix(e.Name(), partSuffix):
			parts = append(parts, filepath.Join(dir, e.Name()))
		}
	}
	return ids, parts, err
}

// ReadText returns the text of a file, from its beginning on. The error says why
// the file is of no use.
func ReadText(path string) ([]int32, error) {
	x, err := openFile(path, anyKey)
	if err != nil {
		return nil, err
	}
	return x.Tokens, x.close()
}

// Verify reads a file whole and compares its sums. The error says what is wrong
// with it.
func Verify(path string) error {
	x, err := openFile(path, anyKey)
	if err != nil {
		return err
	}
	defer x.close()
	for _, name := range x.tensors.Names() {
		if _, err := x.tensors.Data(name); err != nil {
			return fmt.Errorf("checkpoint %s: %w", idOf(path), err)
		}
		if x.sum.last != x.Sums[name] {
			return x.damaged(name)
		}
	}
	return nil
}

// Delete removes the files of entries from a folder. Those that are not there
// are no error.
func Delete(dir string, ids []string) error {
	for _, id := range ids {
		if err := os.Remove(FilePath(dir, id)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
