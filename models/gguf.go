package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tandem/models/gguf"
	"tandem/models/nn"
	"tandem/models/ollama"
	"tandem/models/starter"
	"tandem/storage/disk"
)

// IsGGUF reports whether a path is named as a GGUF file is.
func IsGGUF(path string) bool { return path != TrimGGUF(path) }

// TrimGGUF returns the name of a file without the end that GGUF files have.
func TrimGGUF(name string) string {
	if ext := filepath.Ext(name); strings.EqualFold(ext, ".gguf") {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// GGUFSet returns the paths of the files that a GGUF file belongs to. They hold a model together.
func GGUFSet(path string) []string { return gguf.Set(filepath.Clean(path)) }

// FirstOfGGUFSet returns the first path of GGUFSet alone.
func FirstOfGGUFSet(path string) string { return gguf.FirstOfSet(filepath.Clean(path)) }

// A lookup returns the model of Ollama's whose file is at a path. ok is false if there is none.
type lookup func() (m ollama.Model, ok bool)

// inOllama returns the lookup of a path. It reads the store each time.
func inOllama(path string) lookup {
	return func() (ollama.Model, bool) { return ollama.Of(path) }
}

// absent returns the error of a path where nothing lies. err is the file system's.
func absent(path string, err error, of lookup) error {
	there := func(name string) bool { _, err := disk.Stat(name); return err == nil }
	if IsGGUF(path) && slices.ContainsFunc(GGUFSet(path), there) {
		return errorf(CodeIncomplete, "the file is missing, though others of its set are there; "+
			"copy it beside them, or download the model again if it comes from the hub")
	}
	if e := brokenInOllama(err, of); e != nil {
		return e
	}
	return &Error{Code: CodeNotFound, Err: err, Message: "there is no such folder or file; " +
		"check the path, or download a model"}
}

// openGGUF returns the files that a GGUF file is shown as.
func openGGUF(path string, of lookup) (fs.FS, error) {
	folder, name := filepath.Split(path)
	files, err := gguf.Open(disk.Folder(filepath.Clean(folder)), name)
	if err != nil {
		if e := brokenInOllama(err, of); e != nil {
			return nil, e
		}
		return nil, ggufError(name, err)
	}
	files.Recommend(gguf.Recommended{Chats: ollama.IsBlob(path)})
	return files, nil
}

// brokenInOllama returns the error of a model that Ollama lists, and whose file is damaged or
// missing. Ollama fetches it again. It returns nil for any other error.
func brokenInOllama(err error, of lookup) error {
	code, what := CodeIncomplete, "damaged"
	_, cut := errors.AsType[*gguf.TruncatedError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, what = CodeNotFound, "missing"
	case !cut && !errors.Is(err, gguf.ErrFormat):
		return nil
	}
	m, ok := of()
	if !ok {
		return nil
	}
	return &Error{Code: code, Err: err, Message: fmt.Sprintf(
		"its file in Ollama's store is %s; pull %s again in Ollama", what, m.ID())}
}

// recommended returns what is known about a GGUF file beside its metadata: of the starter, and of
// Ollama's models. In Ollama's store a chat template lies beside the model, in Go's language.
func recommended(path string) gguf.Recommended {
	if ollama.IsBlob(path) {
		m, _ := ollama.Of(path)
		p := m.Parameters() // none of a model that the store has no name for
		return gguf.Recommended{Sampling: p.Sampling, Stops: p.Stops, Chats: true}
	}
	if IsStarter(path) {
		return gguf.Recommended{Sampling: map[string]any{"temperature": starter.Temperature}}
	}
	return gguf.Recommended{}
}

// ggufError returns the error of opening a GGUF file.
func ggufError(name string, err error) error {
	if _, ok := errors.AsType[*disk.SilentError](err); ok {
		return unread(name, err)
	}
	if errors.Is(err, gguf.ErrFormat) && !IsGGUF(name) {
		return errorf(CodeInvalid, "is not a folder and not a GGUF file; "+
			"name the folder that holds config.json, or a file of .gguf")
	}
	code := CodeInvalid
	if _, ok := errors.AsType[*gguf.UnsupportedError](err); ok {
		code = CodeUnsupported
	}
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return missingFile(missing.Path)
	}
	if _, ok := errors.AsType[*gguf.TruncatedError](err); ok {
		code = CodeIncomplete
	}
	return &Error{Code: code, Message: err.Error(), Err: err}
}

// describeMisfit words the error about tensors that do not fit for a GGUF file, which has no config.json.
func describeMisfit(fsys fs.FS, err error) error {
	_, file := fsys.(*gguf.Folder)
	if e, ok := errors.AsType[*nn.MisfitError](err); ok && file {
		return errorf(CodeInvalid, "the file %s; download it again or take another file",
			e.Tensors())
	}
	return err
}

// A Loss is how far weights of a GGUF file are from the file's, where MLX can't hold their kind
// exactly. Figures are in steps: the rms of the tensor's own scales.
type Loss struct {
	Kind  string  // such as Q6_K
	Bits  int     // in which they are held
	RMS   float64 // of the worst tensor
	Max   float64
	Whole bool // every weight was measured; else a sample was
}

// String says it in a few words. Other weights than a sample's may be further off, so only a whole
// measurement bounds them.
func (l Loss) String() string {
	if !l.Whole {
		return fmt.Sprintf("%s is held in %d bits, with an rms error of about %.3f steps and errors "+
			"up to about %.2f in a sample", l.Kind, l.Bits, l.RMS, l.Max)
	}
	up := func(v float64, places float64) float64 { return math.Ceil(v*places) / places }
	return fmt.Sprintf("%s is held in %d bits, with an rms error of at most %.3f steps and no error "+
		"above %.2f", l.Kind, l.Bits, up(l.RMS, 1000), up(l.Max, 100))
}

// losses returns what a model's files lose, one Loss for each kind and number of bits.
func losses(fsys fs.FS) (list []Loss) {
	folder, ok := fsys.(*gguf.Folder)
	if !ok {
		return nil
	}
	for _, l := range folder.Losses() {
		i := slices.IndexFunc(list, func(o Loss) bool { return o.Kind == l.Kind && o.Bits == l.Bits })
		if i < 0 {
			i = len(list)
			list = append(list, Loss{Kind: l.Kind, Bits: l.Bits, Whole: true})
		}
		of := &list[i]
		of.RMS, of.Max, of.Whole = max(of.RMS, l.RMS), max(of.Max, l.Max), of.Whole && l.Whole
	}
	slices.SortFunc(list, func(a, b Loss) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), a.Bits-b.Bits)
	})
	return list
}

// refined returns files whose tensors have more bits, if a load failed for want of them. Else it
// returns nil, and the error of the load or of ctx.
func (f *Files) refined(ctx context.Context, failed error) (*Files, error) {
	if _, coarse := errors.AsType[*gguf.CoarseError](failed); !coarse {
		return nil, failed
	}
	fsys, err := f.files()
	folder, isFolder := fsys.(*gguf.Folder)
	if err != nil || !isFolder {
		return nil, failed
	}
	finer, err := folder.Refined(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, failed
	}
	of := OpenFS(finer, f.name)
	of.path = f.path
	return of, nil
}

// leftOut says what parts of a model's files are for that it leaves out, see Summary.LeftOut.
func leftOut(fsys fs.FS, w *nn.Weights) string {
	if folder, ok := fsys.(*gguf.Folder); ok {
		return folder.LeftOut()
	}
	return w.LeftOut()
}

// fileType returns how a model's GGUF file says that its weights are quantized, such as Q4_K_M. It is
// empty for other files.
func fileType(fsys fs.FS) string {
	if folder, ok := fsys.(*gguf.Folder); ok {
		return folder.FileType()
	}
	return ""
}
