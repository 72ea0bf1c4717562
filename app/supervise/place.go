package supervise

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Place says where a bundle lies, and so what can be offered: what points at a
// bundle, such as a login item, must not point at one that goes away.
type Place string

// The places.
const (
	NoBundle     Place = ""             // the program runs by itself
	Installed    Place = "installed"    // in a folder of applications
	Elsewhere    Place = "elsewhere"    // among the downloads, or in a disk image
	Translocated Place = "translocated" // in a copy that the system made and will remove
)

// PlaceOf judges a bundle by its path; person is the home folder of who runs it.
func PlaceOf(bundle, person string) Place {
	switch {
	case bundle == "":
		return NoBundle
	case strings.Contains(bundle, "/AppTranslocation/"):
		return Translocated
	}
	for _, folder := range []string{"/Applications", filepath.Join(person, "Applications")} {
		if rest, ok := strings.CutPrefix(bundle, folder+"/"); ok && rest != "" {
			return Installed
		}
	}
	return Elsewhere
}

// appName is what the bundle is called where it is installed, whatever it came as: a
// download that the browser called "Tandem 2.app" is no second Tandem.
const appName = "Tandem.app"

// workPattern names the folders of moves, which hold nothing but a bundle that comes
// and one that goes.
const workPattern, comes, goes = ".tandem-*", "new", "old"

// A LostError says that a bundle that was to be replaced is no longer in its place,
// but has not been lost.
type LostError struct {
	At  string // where it lies
	Err error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("the old Tandem lies in %s, the next start tries to put it back: %v", e.At, e.Err)
}

// Unwrap returns what went wrong.
func (e *LostError) Unwrap() error { return e.Err }

// move puts a copy of a bundle into a folder of applications as Tandem.app, in place
// of one that is there, and returns its path. The copy is whole before anything of
// its name is touched, and what was there comes back, or at least stays, where the
// copy cannot take its place: a *LostError says where. The original stays: it may lie
// in an image that cannot be written, and a translocated one hides where it came
// from. What cannot be cleared away once the copy is there is told to log alone.
//
// What the system noted about the download stays behind, as with a copy that a
// person makes of a program that they have allowed to run.
func move(rename func(from, to string) error, log *slog.Logger, bundle, applications string) (string, error) {
	if err := os.MkdirAll(applications, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(applications, workPattern)
	if err != nil {
		return "", fmt.Errorf("nothing can be put into %s: %w", applications, err)
	}
	keep := false
	defer func() {
		if keep {
			return
		}
		if err := os.RemoveAll(work); err != nil {
			log.Warn("a folder of the move to Applications is left over", "path", work, "error", err)
		}
	}()
	fresh, old, target := filepath.Join(work, comes), filepath.Join(work, goes), filepath.Join(applications, appName)
	if err := copyTree(fresh, bundle); err != nil {
		return "", fmt.Errorf("copy %s: %w", filepath.Base(bundle), err)
	}
	replaced := true
	if err := rename(target, old); errors.Is(err, fs.ErrNotExist) {
		replaced = false
	} else if err != nil {
		return "", fmt.Errorf("the %s in %s cannot be replaced: %w", appName, applications, err)
	}
	if err := rename(fresh, target); err != nil {
		if replaced {
			if back := rename(old, target); back != nil {
				keep = true
				return "", &LostError{old, errors.Join(err, back)}
			}
		}
		return "", fmt.Errorf("put %s into %s: %w", appName, applications, err)
	}
	return target, nil
}

// putRight does what a move that was cut short left undone: what was to be replaced
// comes back if nothing took its place, and the rest goes. Another person's move that
// runs is no business of ours, and its folder lets nobody else in.
func putRight(log *slog.Logger, applications string) {
	left, err := filepath.Glob(filepath.Join(applications, workPattern))
	if err != nil {
		log.Warn("looking for what a move to Applications left", "error", err)
	}
	for _, work := range left {
		entries, err := os.ReadDir(work)
		if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != comes && e.Name() != goes }) {
			continue
		}
		old, target := filepath.Join(work, goes), filepath.Join(applications, appName)
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(old, target); err == nil {
				log.Info("what a move to Applications had taken away is back", "path", target)
			} else if !errors.Is(err, fs.ErrNotExist) {
				log.Warn("what a move to Applications took away cannot be put back", "path", old, "error", err)
				continue
			}
		}
		if err := os.RemoveAll(work); err != nil {
			log.Warn("a folder of the move to Applications is left over", "path", work, "error", err)
		}
	}
}

// copyTree copies a folder with modes and links.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.Mkdir(target, info.Mode().Perm()|0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case info.Mode().IsRegular():
			return copyRegular(target, path, info.Mode().Perm())
		}
		return fmt.Errorf("%s is neither a file nor a folder nor a link", rel)
	})
}

func copyRegular(to, from string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}
