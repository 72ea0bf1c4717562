package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/engine/cache"
	"tandem/engine/mlx"
	"tandem/storage/disk"
)

// A file holds the captures of one edge. It is a safetensors file; its metadata has a header in
// JSON and the checksum of that header. Tensors are called I.k and I.v, for the I-th cache.
const (
	fileFormat  = "tandem checkpoint"
	fileVersion = 1
	fileSuffix  = ".checkpoint"
	partSuffix  = ".part" // follows fileSuffix while the file is being written

	headerField, sumField = "tandem", "tandem_sum"
)

// A header says what a file holds.
type header struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	Key     string            `json:"key"`     // of the target; see StoreOptions
	Needed  int               `json:"needed"`  // spans of the target's caches; a draft's follow
	Context string            `json:"context"` // of the draft
	Parent  string            `json:"parent"`  // id of the file with the text before From
	Kind    Kind              `json:"kind"`
	Run     int64             `json:"run"`
	Tokens  []int32           `json:"tokens"` // the text from its beginning
	From    int               `json:"from"`   // where the edge begins in the text
	Spans   []*span           `json:"spans"`  // by cache; null where the file has nothing
	Sums    map[string]uint32 `json:"sums"`   // CRC-32C of each tensor's bytes
}

// A span is the range of positions whose rows are in the file: [From, To).
type span struct{ From, To int }

// sumOf returns the checksum of a header: CRC-32C in hex.
func sumOf(text []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeFile writes a file and returns its size in bytes. Without an error the whole file is on disk
// under its name and survives a power failure.
func writeFile(path string, h header, image *mlx.TensorImage) (bytes int64, err error) {
	h.Format, h.Version, h.Sums = fileFormat, fileVersion, map[string]uint32{}
	image.Each(func(name string, data []byte) { h.Sums[name] = crc32.Checksum(data, castagnoli) })
	text, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	f, err := disk.OpenUnlinked(path+partSuffix, os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path + partSuffix) // if it was not renamed
	err = image.Write(f, map[string]string{headerField: string(text), sumField: sumOf(text)})
	if err == nil {
		bytes, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return 0, err
	}
	return bytes, syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A file is an open file whose header was read and checked.
type file struct {
	header
	f       *disk.File
	tensors *mlx.Tensors
	sum     *summing
}

// An otherKeyError says that a file belongs to another model, to the same one loaded otherwise, or to
// other arithmetic.
type otherKeyError struct {
	key string // the file's
}

func (e *otherKeyError) Error() string {
	return "it belongs to another model, or to the same one loaded otherwise"
}

// why says what differs, to a store with a key.
func (e *otherKeyError) why(key string) string {
	switch its, this := Arithmetic(e.key), Arithmetic(key); its {
	case this:
		return "was computed by other weights, or with other settings"
	case "":
		return "was computed by an older version of this program"
	default:
		return fmt.Sprintf("was computed with %s, and this program has %s", its, this)
	}
}

var errNewer = errors.New("it was written by a newer program")

// anyKey opens files of all keys.
const anyKey = ""

// openFile opens a file of a key. The error says why the file is unusable: a *DamagedError, an
// *otherKeyError, errNewer, or the error of the read.
func openFile(path, key string) (*file, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	x := &file{f: f, sum: &summing{ReaderAt: f}}
	if err := x.read(key); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", idOf(path), err), f.Close())
	}
	return x, nil
}

// A DamagedError says that a file is damaged or missing: no model can use it.
type DamagedError struct {
	Path string
	Why  string
}

func (e *DamagedError) Error() string { return e.Why }

func (x *file) read(key string) error {
	info, err := x.f.Stat()
	if err != nil {
		return err
	}
	damaged := func(format string, args ...any) error {
		return &DamagedError{x.f.Name(), fmt.Sprintf(format, args...)}
	}
	x.tensors, err = mlx.OpenTensors(x.sum, info.Size())
	if cut, ok := errors.AsType[*mlx.TruncatedError](err); ok {
		return damaged("%d bytes of it are missing", cut.Missing)
	}
	if _, unread := errors.AsType[*fs.PathError](err); err != nil && !unread {
		return damaged("%v", err)
	}
	if err != nil {
		return err
	}
	text := []byte(x.tensors.Metadata()[headerField])
	if x.tensors.Metadata()[sumField] != sumOf(text) {
		return damaged("it is no checkpoint, or its header is damaged")
	}
	if err := json.Unmarshal(text, &x.header); err != nil {
		return damaged("its header is damaged: %v", err)
	}
	h := &x.header
	switch {
	case h.Format != fileFormat:
		return damaged("it is no checkpoint")
	case h.Version < fileVersion:
		return damaged("it has version %d of the format, and this program writes %d", h.Version,
			fileVersion)
	case h.Version > fileVersion:
		return errNewer
	case h.Key != key && key != anyKey:
		return &otherKeyError{h.Key}
	case h.From < 0 || h.From >= len(h.Tokens):
		return damaged("it begins at %d of %d tokens", h.From, len(h.Tokens))
	}
	for _, s := range h.Spans {
		if s != nil && (s.From < 0 || s.From > s.To || s.To > len(h.Tokens)) {
			return damaged("it holds rows %d to %d of %d", s.From, s.To, len(h.Tokens))
		}
	}
	return nil
}

func (x *file) close() error { return x.f.Close() }

// load reads a tensor and compares its checksum.
func (x *file) load(s *mlx.Scope, name string) *mlx.Array {
	a := x.tensors.Load(s, name)
	if s.Err() == nil && x.sum.last != x.Sums[name] {
		s.Fail(x.damaged(name))
	}
	return a
}

func (x *file) damaged(name string) error {
	return fmt.Errorf("checkpoint %s: %w", idOf(x.f.Name()),
		&DamagedError{x.f.Name(), fmt.Sprintf("tensor %s is damaged", name)})
}

// A summing reader keeps the checksum of its last read. A tensor is read in one call.
type summing struct {
	io.ReaderAt
	last uint32
}

func (r *summing) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	r.last = crc32.Checksum(p[:n], castagnoli)
	return n, err
}

// A stored source gives the rows of one cache from a file.
type stored struct {
	path, key string
	cache     int
}

var _ cache.Source = stored{}

// Rows implements cache.Source.
func (r stored) Rows(s *mlx.Scope) (k, v *mlx.Array) {
	x, err := openFile(r.path, r.key)
	if errors.Is(err, fs.ErrNotExist) {
		err = &DamagedError{r.path,
			"its file was deleted, to keep within the space for checkpoints or by another program"}
	}
	if err != nil {
		s.Fail(err)
		return nil, nil
	}
	k, v = x.load(s, fmt.Sprintf("%d.k", r.cache)), x.load(s, fmt.Sprintf("%d.v", r.cache))
	if err := x.close(); err != nil {
		s.Fail(err)
	}
	return k, v
}
