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

// A Kind says where a checkpoint's tokens come from.
type Kind string

const (
	KindPrompt Kind = "prompt"
	KindAnswer Kind = "answer" // generated, at least in part
)

// An Entry describes a file. The file's header has every field except Bytes, Digest and Gone.
type Entry struct {
	ID     string // names the file; see FilePath
	Parent string // id of the file with the tokens before From; empty at the beginning of the text
	Key    string // StoreOptions.Key of the store that wrote it
	// Context is StoreOptions.Context of that store, or "" if the file has no context of a draft.
	Context  string
	Kind     Kind
	From, To int    // positions of its tokens in the text: [From, To)
	Run      int64  // Label.Run of the sequence that computed it
	Bytes    int64  // size of the file
	Digest   string // of the text up to To
	Created  time.Time

	Gone string // from Known: why the file is gone; "" if it should exist
}

// ErrForgotten is what Index.Add returns for a file whose text was deleted while it was written.
var ErrForgotten = errors.New("its text was forgotten")

// A Use is one restoration of the beginning of a text.
type Use struct {
	IDs    []string // of its files, in the order of their tokens
	Tokens int      // that were restored
	Took   time.Duration
}

// An Index records the files of checkpoints, in a database for instance. The store calls its
// methods from several goroutines, some of them at the same time. The store logs errors and
// continues.
type Index interface {
	// Known returns the entries of this model, under all keys, including those whose file is gone.
	Known() ([]Entry, error)
	// Add says that a file is now on disk. replaced has the ids of files with the same text that it
	// makes obsolete, such as files of older arithmetic: the store deletes them. If Add returns
	// ErrForgotten, the store deletes the file itself.
	Add(Entry) (replaced []string, err error)
	// Use says that a text was restored from files. Under load the store skips some uses.
	Use(Use) error
	// Discard records that a file is gone or unusable, and why.
	Discard(id, why string) error
	// ByWorth returns the files of all keys. list has the files that may be deleted to make room,
	// the least valuable first. stay has the files that must not be deleted.
	ByWorth() (list, stay []Entry, err error)
}

// keyMark separates the parts of a key.
const keyMark = " with "

// NewKey returns the key of a target's files. target identifies its weights, its type and its layout.
// arithmetic names what computes the rows, such as MLX 0.32.4.
func NewKey(target, arithmetic string) string { return target + keyMark + arithmetic }

// Arithmetic returns the arithmetic of a key, or "" if it was made by a program that did not record
// it.
func Arithmetic(key string) string {
	_, arithmetic, _ := strings.Cut(key, keyMark)
	return arithmetic
}

// FilePath returns the path of the file with this id in a folder.
func FilePath(dir, id string) string { return filepath.Join(dir, id+fileSuffix) }

// newID returns the id of a file that is begun at a time: the milliseconds in base 36, so that ids
// sort by time and can be typed.
func newID(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 36) }

// createdAt returns the time of an id, or the zero time if it is not an id.
func createdAt(id string) time.Time {
	ms, err := strconv.ParseInt(id, 36, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// idOf returns the id of a file.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), fileSuffix) }

// entry describes the file of a header. bytes is the size of the file.
func (h *header) entry(path string, bytes int64) Entry {
	e := Entry{
		ID: idOf(path), Parent: h.Parent, Key: h.Key, Kind: h.Kind, From: h.From, To: len(h.Tokens),
		Run:   h.Run,
		Bytes: bytes, Digest: digestOf(h.Tokens), Created: createdAt(idOf(path)),
	}
	for _, s := range h.Spans[min(h.Needed, len(h.Spans)):] {
		if s != nil {
			e.Context = h.Context
		}
	}
	return e
}

// List returns the ids of the files in a folder, and the paths of files that were only partly
// written. A missing folder is empty and not an error.
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

// ReadTokens returns the text of a file as tokens, from the beginning of the text. The error says why
// the file is unusable.
func ReadTokens(path string) ([]int32, error) {
	x, err := openFile(path, anyKey)
	if err != nil {
		return nil, err
	}
	return x.Tokens, x.close()
}

// Verify reads a whole file and compares its checksums. The error says what is wrong with it.
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

// Delete removes the files with these ids from a folder. It stops at the first error; a missing
// file is not one.
func Delete(dir string, ids []string) error {
	for _, id := range ids {
		if err := os.Remove(FilePath(dir, id)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
