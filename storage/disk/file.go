package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A KindError says that something is not a regular file.
type KindError struct{ What string } // with its article: "a folder"

func (e *KindError) Error() string { return "it is " + e.What + ", not a file" }

// checkKind returns a *KindError unless the mode is a regular file's.
func checkKind(mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &KindError{"a folder"}
	case mode&fs.ModeNamedPipe != 0:
		return &KindError{"a named pipe"}
	case mode&fs.ModeSocket != 0:
		return &KindError{"a socket"}
	}
	return &KindError{"a device"}
}

// A File is a regular file that is open for reading. If its disk may stop answering, its methods
// have patience.
type File struct {
	f       *os.File
	folder  string
	patient bool // the disk may stop answering
}

// maxAtOnce is the most that one patient read asks for, in bytes: a slow disk has that many within
// Patience.
const maxAtOnce = 1 << 20

// Open opens a regular file for reading. Links are followed. Error: [*fs.PathError], around a
// *KindError if it is not a regular file.
func Open(name string) (*File, error) {
	return openBelow(filepath.Dir(name), name)
}

// openBelow is Open for a file below a folder, which is refused as a whole if it does not answer.
func openBelow(folder, name string) (*File, error) {
	return awaitPath("open", folder, name, func() (*File, error) {
		f, err := openRegular(name, os.O_RDONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{f, folder, mayFallSilent(int(f.Fd()))}, nil
	})
}

// OpenToWrite opens a regular file for reading and writing, and makes it if it is missing. flags
// are further ones, such as os.O_TRUNC. Errors are those of [Open].
func OpenToWrite(name string, flags int, mode fs.FileMode) (*os.File, error) {
	return awaitPath("open", filepath.Dir(name), name, func() (*os.File, error) {
		return openRegular(name, os.O_RDWR|os.O_CREATE|flags, uint32(mode.Perm()))
	})
}

// OpenUnlinked is [OpenToWrite] for a file that is this program's alone. What has its name and is a link, of
// either kind, is removed first: whoever may write to the folder could have any file written to.
func OpenUnlinked(name string, flags int, mode fs.FileMode) (*os.File, error) {
	return awaitPath("open", filepath.Dir(name), name, func() (*os.File, error) {
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err == nil &&
			(st.Mode&unix.S_IFMT == unix.S_IFLNK || st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1) {
			if err := os.Remove(name); err != nil {
				return nil, err
			}
		}
		return openRegular(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|flags, uint32(mode.Perm()))
	})
}

// CheckFile returns the error that [Open] has for something that is not a regular file, and nil
// for a missing file.
func CheckFile(name string) error {
	_, err := awaitPath("open", filepath.Dir(name), name, func() (fs.FileInfo, error) {
		info, err := os.Stat(name)
		if err == nil {
			err = checkKind(info.Mode())
		}
		return info, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openRegular opens a regular file. It looks before it opens, since opening alone does something to
// some devices. It looks again after, since the name may stand for another thing by then.
func openRegular(name string, flags int, mode uint32) (*os.File, error) {
	info, err := os.Stat(name)
	if err == nil {
		err = checkKind(info.Mode())
	}
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0) {
		return nil, err
	}
	// Not to block: a named pipe would let this wait for its other end.
	fd, err := unix.Open(name, flags|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(name, flags|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
	}
	if err != nil {
		return nil, err
	}
	err = unix.SetNonblock(fd, false)
	f := os.NewFile(uintptr(fd), name)
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil {
		err = checkKind(info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Name returns the name that the file was opened by.
func (f *File) Name() string { return f.f.Name() }

// Fd returns the descriptor, for locks.
func (f *File) Fd() uintptr { return f.f.Fd() }

// Stat implements fs.File.
func (f *File) Stat() (fs.FileInfo, error) { return patiently(f, "stat", f.f.Stat) }

// Close implements fs.File.
func (f *File) Close() error {
	_, err := patiently(f, "close", func() (none struct{}, _ error) { return none, f.f.Close() })
	return err
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) { return f.read(p, f.f.Read) }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if !f.patient {
		return f.f.ReadAt(p, off)
	}
	n := 0
	for {
		m, err := f.read(p[n:min(n+maxAtOnce, len(p))],
			func(p []byte) (int, error) { return f.f.ReadAt(p, off+int64(n)) })
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// read reads with patience if need be: into separate memory, which a call that comes back late
// may still write to.
func (f *File) read(p []byte, read func([]byte) (int, error)) (int, error) {
	if !f.patient {
		return read(p)
	}
	type result struct {
		n   int
		err error
	}
	own := make([]byte, min(len(p), maxAtOnce))
	r, err := awaitPath("read", f.folder, f.Name(), func() (result, error) {
		n, err := read(own)
		return result{n, err}, nil
	})
	if err != nil {
		return 0, err
	}
	return copy(p, own[:r.n]), r.err
}

// patiently calls something of an open file.
func patiently[T any](f *File, op string, call func() (T, error)) (T, error) {
	if !f.patient {
		return call()
	}
	return awaitPath(op, f.folder, f.Name(), call)
}

// ReadFile returns the content of a regular file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d KiB", name, limit>>10)
	}
	return data, err
}

// pathError puts a name into an error, in place of the one that it may have.
func pathError(op, name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
