package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tandem/app/control"
	"tandem/storage/disk"
)

// newFile matches the temporary names that WritePrivate gives to a file until it is complete.
const newFile = ".new-*"

// maxPrivate bounds the small files of the home folder that are read.
const maxPrivate = 1 << 20

// WritePrivate writes a file of the home folder, and makes the folders above it. Only its owner may
// read it. It is written completely or not at all.
func WritePrivate(name, text string) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, newFile) // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once the file has its final name
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// Replace writes a small file of the home folder, or removes it if there is false. Only its owner
// may read it. back restores the state before.
func Replace(path, text string, there bool) (back func() error, err error) {
	was, err := disk.ReadFile(path, maxPrivate)
	wasThere := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, WriteError(err)
	}
	set := func(text string, there bool) error {
		if there {
			return WriteError(WritePrivate(path, text))
		}
		return WriteError(RemoveIfThere(path))
	}
	return func() error { return set(string(was), wasThere) }, set(text, there)
}

// RemoveIfThere removes a file. A file that does not exist is not an error.
func RemoveIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// WriteError returns err as a client gets it: the home folder cannot be written.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	return &control.Error{Code: control.CodeFolder, Err: err,
		Message: fmt.Sprintf("Tandem's home folder cannot be written: %v. Make it yours to read and to write, and try again.", err)}
}
