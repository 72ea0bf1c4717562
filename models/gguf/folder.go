package gguf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of the files that a Folder shows.
const (
	weightsFile          = "model.safetensors"
	configFile           = "config.json"
	generationConfigFile = "generation_config.json"
	tokenizerFile        = "tokenizer.json"
	tokenizerConfigFile  = "tokenizer_config.json"
)

// A Folder shows a GGUF file as a folder in Hugging Face's form. It is safe for concurrent use and
// holds no file open.
type Folder struct {
	fsys    fs.FS
	files   []fileID // that hold the tensors
	header  []byte   // of model.safetensors
	entries []*entry
	exact   []*source                         // the approximated tensors in exact formats
	centred map[string]bool                   // see Centred
	small   map[string]func() ([]byte, error) // the other files by name, made when they are opened
	changed time.Time

	fileType, leftOut, noHead string

	tokenizer *tokenizer

	mu          sync.Mutex
	losses      []Loss      // guarded by mu
	recommended Recommended // guarded by mu
}

// Losses returns what repacking changes. It is empty for a file whose weights stay exactly as they
// are. A tensor that was read whole is measured whole, another one by a sample.
func (d *Folder) Losses() []Loss {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.losses)
}

// FileType returns what the file says about its quantization, such as Q4_K_M, or else the kind of
// most of its weights.
func (d *Folder) FileType() string { return d.fileType }

// LeftOut returns what the parts of the file are for that are left out, such as "images and sound",
// or "".
func (d *Folder) LeftOut() string { return d.leftOut }

// NoHead says in one sentence why layers of the file that predict further tokens are not shown as a
// head, whose names begin with mtp. It returns "" if they are, or if the file has no such layers.
func (d *Folder) NoHead() string { return d.noHead }

// Bytes returns the size of the GGUF files. The size of the shown model.safetensors differs.
func (d *Folder) Bytes() (n int64) {
	for _, f := range d.files {
		n += f.size
	}
	return n
}

// recordLoss records the loss of a whole tensor.
func (d *Folder) recordLoss(l Loss) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.losses {
		if d.losses[i].Tensor == l.Tensor {
			d.losses[i] = l
		}
	}
}

// Refined returns the same folder, whose tensors have the bits that they need as a whole. It reads
// all tensors that lose something, which ends with ctx.
func (d *Folder) Refined(ctx context.Context) (*Folder, error) {
	finer, err := openFolder(ctx, d.fsys, d.files[0].name, scanAll)
	if err == nil {
		finer.Recommend(d.recommendation())
	}
	return finer, err
}

// A fileID is a file as its header was read.
type fileID struct {
	name    string
	size    int64
	changed time.Time
}

// Open reads and checks the header of a GGUF file, or of all files of its set. Errors are one
// sentence about the file, without its name. An error that wraps fs.ErrNotExist is the file
// system's own.
func Open(fsys fs.FS, name string) (*Folder, error) {
	return openFolder(context.Background(), fsys, name, scanSamples)
}

// OpenHeader is Open for a file of which only the header is available. It reports whether the file
// can be used. Do not read the weights.
func OpenHeader(fsys fs.FS, name string) (*Folder, error) {
	return openFolder(context.Background(), fsys, name, scanHeader)
}

func openFolder(ctx context.Context, fsys fs.FS, name string, by lossScan) (*Folder, error) {
	h, files, ids, err := openSet(fsys, name)
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	d := &Folder{fsys: fsys, files: ids}
	m := &model{header: h, scan: by}
	for i, f := range files {
		m.files = append(m.files, untilDone{f.(io.ReaderAt), ctx})
		if ids[i].changed.After(d.changed) {
			d.changed = ids[i].changed
		}
	}
	if err := d.addFiles(m); err != nil {
		return nil, err
	}
	return d, nil
}

// An untilDone reads until its context ends.
type untilDone struct {
	io.ReaderAt
	ctx context.Context
}

// ReadAt implements io.ReaderAt.
func (r untilDone) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, off)
}

// openRegular opens a file that can be read at any offset.
func openRegular(fsys fs.FS, name string) (fs.File, fileID, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fileID{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if _, ok := f.(io.ReaderAt); err == nil && !ok {
		err = fmt.Errorf("%s can't be read at any offset", name)
	}
	if err != nil {
		f.Close()
		return nil, fileID{}, err
	}
	return f, fileID{name, info.Size(), info.ModTime()}, nil
}

// addFiles makes the files of the folder.
func (d *Folder) addFiles(m *model) error {
	sources, err := m.sources()
	if err != nil {
		return err
	}
	d.header, d.entries = layout(sources)
	d.centred = map[string]bool{}
	for _, s := range sources {
		d.centred[s.to] = s.kind.isCentred()
		if s.kind.isApproximated() {
			one := *s
			one.packing = exactFormats[s.kind].packing(s.kind)
			d.exact = append(d.exact, &one)
		}
	}
	d.losses, d.fileType, d.noHead = m.losses, m.fileType(), m.noHead
	d.leftOut = strings.Join(slices.Sorted(maps.Keys(m.leftOut)), " and ")
	config, err := m.config(sources)
	if err != nil {
		return err
	}
	t, err := m.tokenizer()
	if err != nil {
		return err
	}
	d.tokenizer = t
	d.small = map[string]func() ([]byte, error){
		configFile:    func() ([]byte, error) { return config, nil },
		tokenizerFile: t.file,
		tokenizerConfigFile: func() ([]byte, error) {
			return t.config(d.recommendation().Chats)
		},
		generationConfigFile: func() ([]byte, error) {
			return t.generationConfig(d.recommendation())
		},
	}
	return nil
}

// FamilyTemplate returns the chat template of the model's family, for a file whose own one cannot
// be used. It returns "" if no form is known.
func (d *Folder) FamilyTemplate() string { return d.tokenizer.familyTemplate() }

// Open implements fs.FS.
func (d *Folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return &shownDir{d: d}, nil
	}
	if read, ok := d.small[name]; ok {
		text, err := read()
		if err != nil {
			return nil, err
		}
		return &shownFile{info: d.info(name, int64(len(text))),
			SectionReader: io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text)))}, nil
	}
	if name != weightsFile {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return d.openWeights(d.header, d.entries)
}

// Exact returns the bits and the group of a weight in the file of [Folder.OpenExact], and whether it is there.
func (d *Folder) Exact(name string) (bits, group int, ok bool) {
	for _, s := range d.exact {
		if s.to == name {
			return s.packing.bits, s.packing.group, true
		}
	}
	return 0, 0, false
}

// Centred reports whether the biases of a weight, in the file's own form, are -2^(bits-1) times its scales.
func (d *Folder) Centred(name string) bool { return d.centred[name] }

// OpenExact opens a safetensors file of the tensors that lose something in model.safetensors. It has them by the
// same names, with exactly the file's weights, in groups smaller than MLX multiplies. It returns nil if there are
// no such tensors.
func (d *Folder) OpenExact() (fs.File, error) {
	if d.exact == nil {
		return nil, nil
	}
	return d.openWeights(layout(d.exact))
}

// openWeights opens a safetensors file with a header and its entries.
func (d *Folder) openWeights(header []byte, entries []*entry) (fs.File, error) {
	w := &weights{header: header, entries: entries, measured: d.recordLoss}
	last := entries[len(entries)-1]
	f := &shownFile{info: d.info(weightsFile, last.offset+last.size)}
	for _, id := range d.files {
		file, now, err := openRegular(d.fsys, id.name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is gone; put it back, or choose another model", id.name)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		f.files = append(f.files, file)
		if now != id {
			f.Close()
			return nil, fmt.Errorf("%s changed while it was read; try again", id.name)
		}
		w.files = append(w.files, file.(io.ReaderAt))
	}
	f.SectionReader = io.NewSectionReader(w, 0, f.info.size)
	return f, nil
}

// Stat implements fs.StatFS.
func (d *Folder) Stat(name string) (fs.FileInfo, error) {
	if read, ok := d.small[name]; ok {
		text, err := read()
		return d.info(name, int64(len(text))), err
	}
	if name == weightsFile {
		return d.info(name, d.size()), nil
	}
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

// size returns the bytes of the shown model.safetensors.
func (d *Folder) size() int64 {
	last := d.entries[len(d.entries)-1]
	return last.offset + last.size
}

func (d *Folder) info(name string, size int64) shownInfo {
	return shownInfo{name: path.Base(name), size: size, changed: d.changed}
}

// names returns the names of all files, sorted.
func (d *Folder) names() []string {
	names := []string{weightsFile}
	for name := range d.small {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A shownFile is an open file of a Folder.
type shownFile struct {
	*io.SectionReader
	info  shownInfo
	files []fs.File // that it reads
}

// Stat implements fs.File.
func (f *shownFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f *shownFile) Close() error {
	closeAll(f.files)
	return nil
}

// A shownDir is the open root of a Folder.
type shownDir struct {
	d  *Folder
	at int // names read
}

// Stat implements fs.File.
func (f *shownDir) Stat() (fs.FileInfo, error) {
	return shownInfo{name: ".", changed: f.d.changed, dir: true}, nil
}

// Read implements fs.File.
func (f *shownDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// Close implements fs.File.
func (f *shownDir) Close() error { return nil }

// ReadDir implements fs.ReadDirFile.
func (f *shownDir) ReadDir(n int) ([]fs.DirEntry, error) {
	names := f.d.names()[f.at:]
	if n > 0 && len(names) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		names = names[:min(n, len(names))]
	}
	f.at += len(names)
	entries := make([]fs.DirEntry, len(names))
	for i, name := range names {
		info, err := f.d.Stat(name)
		if err != nil {
			return nil, err
		}
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, nil
}

// A shownInfo describes a file of a Folder.
type shownInfo struct {
	name    string
	size    int64
	changed time.Time
	dir     bool
}

func (i shownInfo) Name() string       { return i.name }
func (i shownInfo) Size() int64        { return i.size }
func (i shownInfo) ModTime() time.Time { return i.changed }
func (i shownInfo) IsDir() bool        { return i.dir }
func (i shownInfo) Sys() any           { return nil }

func (i shownInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o500
	}
	return 0o400
}
