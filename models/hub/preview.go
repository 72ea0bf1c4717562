package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/storage/disk"
)

const (
	// headBytes is how much of each file of weights is fetched first. Most headers are shorter.
	headBytes = 256 << 10

	// maxHeadBytes is the most that is fetched of one: the format's own bound on headers, with the
	// eight bytes before them.
	maxHeadBytes = 100<<20 + 8

	// maxHeadsBytes bounds what is fetched of all files. It is in memory until the check ends. The
	// headers of published models have some 10 MB together.
	maxHeadsBytes = 256 << 20
)

// A preview is the file system that [Options].Check gets: the files of a model that is being
// pulled. Of weights that are still to come it fetches what is read, which a check bounds to the
// headers.
type preview struct {
	ctx   context.Context
	p     *pull
	files map[string]*file
	begin func() // fetches the beginning of all weights, before the first of them is read

	mu   sync.Mutex
	held int64 // bytes of all beginnings
	err  error // the first of a fetch
}

var (
	_ fs.FS        = (*preview)(nil)
	_ fs.ReadDirFS = (*preview)(nil)
)

// check asks Options.Check about a model whose weights are still to come.
func (p *pull) check(ctx context.Context, files []*file) error {
	v := &preview{ctx: ctx, p: p, files: map[string]*file{}}
	var weights []*file
	for _, f := range files {
		v.files[f.name] = f
		if f.remote() {
			weights = append(weights, f)
		}
	}
	if p.checkFiles == nil || weights == nil {
		return nil
	}
	v.begin = sync.OnceFunc(func() { // several at a time; extend keeps an error
		_ = p.each(ctx, weights, func(ctx context.Context, f *file) error {
			return v.extend(ctx, f, min(headBytes, f.size))
		})
	})
	err := p.checkFiles(v, p.gguf)
	for _, f := range weights {
		f.head = nil
	}
	if failed := v.recordError(nil); failed != nil {
		return failed
	}
	return err
}

// remote reports whether a file is weights that are still to come.
func (f *file) remote() bool {
	return f.etag != "" && f.have < f.size && f.isWeights()
}

// isWeights reports whether a file holds weights, by its name.
func (f *file) isWeights() bool { return path.Ext(f.name) == ".safetensors" || isGGUF(f.name) }

// extend fetches the beginning of a file up to n bytes.
func (v *preview) extend(ctx context.Context, f *file, n int64) error {
	from := int64(len(f.head))
	if from >= n {
		return nil
	}
	if n > maxHeadBytes {
		return errorf(Unsupported, v.p.name, "the header of %s is longer than %d MiB", f.name,
			maxHeadBytes>>20)
	}
	if err := v.reserveBytes(n - from); err != nil {
		return err
	}
	part, err := v.p.client.part(ctx, v.p.commit, f, from, n, v.p.waiting)
	f.head = append(f.head, part...)
	return v.recordError(err)
}

// reserveBytes counts bytes that are to be fetched. It fails if the headers are longer together than those
// of any model, or if a fetch has failed.
func (v *preview) reserveBytes(n int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held += n; v.err == nil && v.held > maxHeadsBytes {
		v.err = errorf(Unsupported, v.p.name, "the headers of its weights are longer than %d MiB",
			maxHeadsBytes>>20)
	}
	return v.err
}

// recordError records an error of a fetch, or nil, and returns the first.
func (v *preview) recordError(err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
	}
	return v.err
}

// part fetches the bytes [from, to) of a file.
func (c *client) part(ctx context.Context, commit string, f *file, from, to int64,
	waiting func(time.Duration, error)) (part []byte, err error) {
	err = c.retry(ctx, fileAttempts, waiting, func() (bool, error) {
		header := make(http.Header)
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
		r, err := c.do(ctx, http.MethodGet, c.fileURL(commit, f.name), header)
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		skip := from
		switch {
		case r.StatusCode != http.StatusOK && r.StatusCode != http.StatusPartialContent:
			return false, c.statusError(r, f.name)
		case r.etag != "" && r.etag != f.etag:
			return false, errorf(BadReply, c.name,
				"%s changes at the hub while it is fetched: pull again later", f.name)
		case r.StatusCode == http.StatusPartialContent:
			start, _, err := contentRange(r.Header.Get("Content-Range"))
			if err != nil || start != from {
				return false, errorf(BadReply, c.name,
					"the hub sends another part of %s than it was asked for (%q): pull again",
					f.name, r.Header.Get("Content-Range"))
			}
			skip = 0
		}
		if _, err = io.CopyN(io.Discard, r.Body, skip); err == nil {
			part = make([]byte, to-from)
			_, err = io.ReadFull(r.Body, part)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = &transient{err: errorf(Truncated, c.name,
				"the connection ended before the header of %s was there: pull again", f.name)}
		}
		return false, err
	})
	return part, err
}

// Open implements fs.FS.
func (v *preview) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f := v.files[name]
	switch {
	case f == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case f.remote():
		v.begin()
		return &remoteFile{v, f}, nil
	case f.etag == "":
		return disk.Folder(v.p.repo.snapshot(v.p.commit)).Open(name)
	}
	return disk.Open(v.p.repo.blob(f.etag))
}

// ReadDir implements fs.ReadDirFS.
func (v *preview) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	seen := map[string]bool{}
	for file, f := range v.files {
		rest, ok := file, true
		if name != "." {
			rest, ok = strings.CutPrefix(file, name+"/")
		}
		first, _, deeper := strings.Cut(rest, "/")
		if !ok || seen[first] {
			continue
		}
		seen[first] = true
		entries = append(entries, fs.FileInfoToDirEntry(fileInfo{first, f.size, deeper}))
	}
	if entries == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// A remoteFile is a file of weights at the hub. It implements io.ReaderAt.
type remoteFile struct {
	v *preview
	f *file
}

func (r *remoteFile) Stat() (fs.FileInfo, error) {
	return fileInfo{filepath.Base(r.f.name), r.f.size, false}, nil
}

func (r *remoteFile) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (r *remoteFile) Close() error             { return nil }

func (r *remoteFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.f.size {
		return 0, io.EOF
	}
	end := min(off+int64(len(p)), r.f.size)
	more := end
	if isGGUF(r.f.name) && end > int64(len(r.f.head)) {
		// The header does not say how long it is, and it is read in small steps.
		more = min(max(end, 2*int64(len(r.f.head))), r.f.size, max(end, maxHeadBytes))
	}
	if err := r.v.extend(r.v.ctx, r.f, more); err != nil {
		return 0, err
	}
	n := copy(p, r.f.head[off:end])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// A fileInfo describes a file, or a folder, of a preview.
type fileInfo struct {
	name   string
	size   int64
	folder bool
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.folder }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
