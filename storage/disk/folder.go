package disk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Stat is os.Stat for anything.
func Stat(name string) (fs.FileInfo, error) {
	return awaitPath("stat", name, name, func() (fs.FileInfo, error) { return os.Stat(name) })
}

// Lstat is os.Lstat for anything.
func Lstat(name string) (fs.FileInfo, error) {
	return awaitPath("lstat", name, name, func() (fs.FileInfo, error) { return os.Lstat(name) })
}

// IsDir reports whether there is a folder of that name, and it answers.
func IsDir(name string) bool {
	info, err := Stat(name)
	return err == nil && info.IsDir()
}

// ReadDir returns the entries of a folder, sorted by name, and at most n if n is positive. With
// entries it returns no error.
func ReadDir(name string, n int) ([]fs.DirEntry, error) {
	return readDir(name, name, n)
}

func readDir(folder, name string, n int) ([]fs.DirEntry, error) {
	entries, err := await(folder, func() ([]fs.DirEntry, error) {
		if n <= 0 {
			n = -1
		}
		d, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		list, err := d.ReadDir(n)
		if err == io.EOF {
			err = nil // it is empty
		}
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		return list, err
	})
	if len(entries) > 0 {
		return entries, nil // the names before the error count
	}
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return entries, nil
}

// EvalSymlinks is filepath.EvalSymlinks.
func EvalSymlinks(name string) (string, error) {
	return awaitPath("follow", name, name, func() (string, error) { return filepath.EvalSymlinks(name) })
}

// A Folder implements fs.FS with the files below a folder. It opens regular files alone. If one does
// not answer, the folder is refused with all that is in it.
type Folder string

var (
	_ fs.StatFS    = Folder("")
	_ fs.ReadDirFS = Folder("")
)

// Open implements fs.FS.
func (d Folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := openBelow(string(d), d.path(name))
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return f, nil
}

// ReadDir implements fs.ReadDirFS.
func (d Folder) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	entries, err := readDir(string(d), d.path(name), 0)
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return entries, nil
}

// Stat implements fs.StatFS.
func (d Folder) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return awaitPath("stat", string(d), name,
		func() (fs.FileInfo, error) { return os.Stat(d.path(name)) })
}

func (d Folder) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}
