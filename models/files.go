package models

import (
	"errors"
	"io/fs"
	"path/filepath"

	"tandem/engine/tokenizer"
	"tandem/models/gguf"
	"tandem/models/ollama"
	"tandem/models/pocket"
	"tandem/storage/disk"
)

// Files are the files of a model or of a drafter. Each is read when it is first needed, and what it says
// is kept for all that ask later: [Files.Summary], the checks of drafters, the measures of memory, and
// the load, which opens the weights anew. Files hold no file open. They are safe for use by several
// goroutines. Errors of their methods are of type *Error.
//
// Files do not notice a change on disk, see [FileCache]. Weights that have changed since their header was
// read are not loaded.
type Files struct {
	name string // for errors
	path string // of a GGUF file on disk; empty for others
	open func() (fs.FS, error)
	used func(f *Files) // called when something large is used; may be nil

	config      memoized[*config]
	defaults    memoized[Defaults]
	purpose     memoized[Purpose] // before Purpose.resolve
	summary     memoized[Summary]
	measured    memoized[Footprint]   // see Drafter
	builtInHead memoized[builtInHead] // an unusable one too

	// Large if they have more than smallHeaders bytes.
	weights memoized[*headers]
	head    memoized[*headers] // nil if there is none

	// Large, up to some tens of megabytes.
	folder          memoized[fs.FS] // of a GGUF file
	tokens          memoized[tokens]
	tokenizerConfig memoized[[]byte]
	templates       memoized[templates]
}

// smallHeaders bounds the headers that are kept for long, in bytes of JSON: those of 8,192 tensors. In
// memory they take some 3 MB.
const smallHeaders = 1 << 20

// Open returns the files of a model or a drafter, which is a folder or a GGUF file.
func Open(path string) (*Files, error) { return openFiles(path, inOllama(path)) }

// OpenOllama is Open for a model in Ollama's store. It reads no manifest again, so that a search reads
// each of them once.
func OpenOllama(m ollama.Model) (*Files, error) {
	return openFiles(m.Blob, func() (ollama.Model, bool) { return m, true })
}

func openFiles(path string, of lookup) (*Files, error) {
	f := &Files{name: filepath.Clean(path), open: func() (fs.FS, error) { return openPath(path, of) }}
	fsys, err := f.files()
	if err != nil {
		return nil, f.withName(err)
	}
	if _, ok := fsys.(*gguf.Folder); ok {
		f.path = path
	}
	return f, nil
}

// OpenFS returns the files at the root of a file system. name stands for the model in errors. Its weights
// must be readable at any offset (io.ReaderAt).
func OpenFS(fsys fs.FS, name string) *Files {
	return &Files{name: name, open: func() (fs.FS, error) { return fsys, nil }}
}

// OpenGGUF returns the files that a GGUF file in a file system is shown as. It reads the headers alone, so
// it says nothing about what the file's weights lose, and they cannot be loaded.
func OpenGGUF(fsys fs.FS, file, name string) (*Files, error) {
	folder, err := gguf.OpenHeader(fsys, file)
	if err != nil {
		return nil, named(ggufError(file, err), name)
	}
	return OpenFS(folder, name), nil
}

// OpenPocket returns the files of the embedded model.
func OpenPocket() *Files { return OpenFS(pocket.Files(), PocketID) }

// openPath opens a folder or a GGUF file. of returns what Ollama's store has for the path.
func openPath(path string, of lookup) (fs.FS, error) {
	info, err := disk.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, absent(path, err, of)
	case err != nil:
		return nil, unread("the folder", err)
	case info.IsDir():
		// An os.Root would refuse the files of a Hugging Face cache, which are links to another
		// folder. Names that come from inside the model are checked instead.
		return disk.Folder(path), nil
	}
	return openGGUF(path, of)
}

// files returns the file system. That of a GGUF file holds its metadata.
func (f *Files) files() (fs.FS, error) {
	fsys, err := f.folder.get(f.open)
	if f.path != "" {
		f.useLarge()
	}
	return fsys, err
}

func (f *Files) useLarge() {
	if f.used != nil {
		f.used(f)
	}
}

// DropLarge forgets what takes much memory. It is read again when it is needed.
func (f *Files) DropLarge() {
	f.folder.drop()
	f.tokens.drop()
	f.tokenizerConfig.drop()
	f.templates.drop()
	if h := f.weights.value.Load(); h != nil && (*h).size > smallHeaders {
		f.weights.drop()
		f.head.drop() // it shares them
	}
}

// withName returns err with the name of the files in it, or nil.
func (f *Files) withName(err error) error {
	if err == nil {
		return nil
	}
	return named(err, f.name)
}

// memoize returns the value of k, which is read from the files once.
func memoize[T any](f *Files, k *memoized[T], read func(fsys fs.FS) (T, error)) (T, error) {
	return k.get(func() (v T, err error) {
		fsys, err := f.files()
		if err != nil {
			return v, err
		}
		return read(fsys)
	})
}

// readConfig returns config.json, of a model or a drafter.
func (f *Files) readConfig() (*config, error) { return memoize(f, &f.config, readConfig) }

// readModel is readConfig for a model alone.
func (f *Files) readModel() (*config, error) {
	cfg, err := f.readConfig()
	if err == nil {
		err = cfg.checkModel()
	}
	return cfg, err
}

// Defaults returns the sampling parameters that the model's authors recommend.
func (f *Files) Defaults() (Defaults, error) {
	d, err := f.readDefaults()
	return d, f.withName(err)
}

func (f *Files) readDefaults() (Defaults, error) {
	if ollama.IsBlob(f.path) {
		f.defaults.drop() // Ollama may have changed them without a change of the file
	}
	return memoize(f, &f.defaults, func(fsys fs.FS) (Defaults, error) {
		if folder, ok := fsys.(*gguf.Folder); ok && f.path != "" {
			folder.Recommend(recommended(f.path))
		}
		return readDefaults(fsys)
	})
}

// readPurpose returns what the model is for.
func (f *Files) readPurpose(cfg *config) (Purpose, error) {
	return memoize(f, &f.purpose, func(fsys fs.FS) (Purpose, error) {
		return readPurpose(fsys, cfg, f.name, func() bool {
			t, err := f.readTokens()
			return err == nil && t.endTexts // the load of the tokenizer reports an error
		})
	})
}

// Tokenizer returns the tokenizer.
func (f *Files) Tokenizer() (*tokenizer.Tokenizer, error) {
	t, err := f.readTokens()
	return t.tokenizer, f.withName(err)
}

// ChatTemplate returns the sources of the chat templates, empty if there are none.
func (f *Files) ChatTemplate() (string, error) {
	t, err := f.chatTemplates()
	return t.source(), f.withName(err)
}

// tokens are what tokenizer.json says.
type tokens struct {
	tokenizer *tokenizer.Tokenizer
	endTexts  bool // see endsTexts
}

func (f *Files) readTokens() (tokens, error) {
	defer f.useLarge()
	return memoize(f, &f.tokens, func(fsys fs.FS) (t tokens, err error) {
		text, err := readFile(fsys, tokenizerFile)
		if errors.Is(err, fs.ErrNotExist) {
			// weights that no tokenizer helps are told first
			_, err := listShards(fsys)
			if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeUnsupported {
				return t, err
			}
			return t, missingFile(tokenizerFile)
		}
		if err != nil {
			return t, err
		}
		config, err := f.readTokenizerConfig()
		if err != nil {
			return t, err
		}
		if t.tokenizer, err = tokenizer.Load(text, config); err != nil {
			return t, tokenizerError(err)
		}
		t.endTexts = endsTexts(text)
		return t, nil
	})
}

func tokenizerError(err error) error {
	code := CodeInvalid
	if e, ok := errors.AsType[*tokenizer.Error](err); ok && e.Code == tokenizer.CodeUnsupported {
		code = CodeUnsupported
	}
	return &Error{Code: code, Message: err.Error(), Err: err}
}

// readTokenizerConfig returns tokenizer_config.json, empty if there is none.
func (f *Files) readTokenizerConfig() ([]byte, error) {
	return memoize(f, &f.tokenizerConfig, func(fsys fs.FS) ([]byte, error) {
		config, err := readJSON(fsys, tokenizerConfigFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return config, err
	})
}

func (f *Files) chatTemplates() (templates, error) {
	defer f.useLarge()
	return memoize(f, &f.templates, func(fsys fs.FS) (templates, error) {
		config, err := f.readTokenizerConfig()
		if err != nil {
			return templates{}, err
		}
		return readTemplates(fsys, config)
	})
}

// readWeights returns the headers of the weights.
func (f *Files) readWeights() (*headers, error) {
	h, err := memoize(f, &f.weights, readHeaders)
	if err == nil && h.size > smallHeaders {
		f.useLarge()
	}
	return h, err
}

// readHead returns the headers of the head that the files of a model bring, nil if they bring none.
func (f *Files) readHead(cfg *config) (*headers, error) {
	return memoize(f, &f.head, func(fsys fs.FS) (*headers, error) {
		return readHead(fsys, cfg, f.readWeights)
	})
}
