package supervise

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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

// Move puts a copy of a bundle into a folder of applications, in place of one that
// is there, and returns its path. The copy is whole before anything of its name is
// touched, and what was there comes back, or at least stays, where the copy cannot
// take its place. The original stays: it may lie in an image that cannot be written,
// and a translocated one hides where it came from. What cannot be cleared away once
// the copy is there is told to log alone.
//
// What the system noted about the download stays behind, as with a copy that a
// person makes of a program that they have allowed to run.
func Move(log *slog.Logger, bundle, applications string) (string, error) {
	return move(os.Rename, log, bundle, applications)
}

func move(rename func(from, to string) error, log *slog.Logger, bundle, applications string) (string, error) {
	if err := os.MkdirAll(applications, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(applications, ".tandem-")
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
	name := filepath.Base(bundle)
	fresh, old, target := filepath.Join(work, "new"), filepath.Join(work, "old"), filepath.Join(applications, name)
	if err := copyTree(fresh, bundle); err != nil {
		return "", fmt.Errorf("copy %s: %w", name, err)
	}
	replaced := true
	if err := rename(target, old); errors.Is(err, fs.ErrNotExist) {
		replaced = false
	} else if err != nil {
		return "", fmt.Errorf("the %s in %s cannot be replaced: %w", name, applications, err)
	}
	if err := rename(fresh, target); err != nil {
		if replaced {
			if back := rename(old, target); back != nil {
				keep = true
				return "", fmt.Errorf("the %s in %s cannot be replaced, and lies in %s now: %w", name, applications, old, errors.Join(err, back))
			}
		}
		return "", fmt.Errorf("put %s into %s: %w", name, applications, err)
	}
	return target, nil
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
