package models

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"tandem/models/gguf"
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
func GGUFSet(path string) []string {
	folder, name := filepath.Split(path)
	names := gguf.Set(name)
	for i, name := range names {
		names[i] = filepath.Join(folder, name)
	}
	return names
}

// openGGUF returns the files that a GGUF file is shown as.
func openGGUF(path string) (fs.FS, error) {
	folder, name := filepath.Split(path)
	files, err := gguf.Open(disk.FS(filepath.Clean(folder)), name)
	if err == nil {
		return files, nil
	}
	if _, ok := errors.AsType[*disk.SilentError](err); ok {
		return nil, unread(name, err)
	}
	code := CodeInvalid
	if _, ok := errors.AsType[*gguf.UnsupportedError](err); ok {
		code = CodeUnsupported
	}
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return nil, missingFile(missing.Path)
	}
	if _, ok := errors.AsType[*gguf.TruncatedError](err); ok {
		code = CodeIncomplete
	}
	return nil, &Error{Code: code, Message: err.Error(), Err: err}
}
