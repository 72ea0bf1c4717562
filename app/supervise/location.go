package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Location says where a bundle is. A login item, for example, must not point at a bundle that will
// be removed.
type Location string

// The locations.
const (
	NoBundle     Location = ""             // the program is not in a bundle
	Installed    Location = "installed"    // in a folder of applications
	Elsewhere    Location = "elsewhere"    // among the downloads, or in a disk image
	Translocated Location = "translocated" // in a copy that the system made and will remove
)

// LocationOf returns the location of a bundle by its path. person is the home folder of the user.
func LocationOf(bundle, person string) Location {
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

// appName is the name of the installed bundle, whatever its name was before. A download that the
// browser called "Tandem 2.app" is not a second Tandem.
const appName = "Tandem.app"

// workPattern matches the folders of moves. Such a folder holds nothing but the new bundle and the
// old one.
const workPattern, comes, goes = ".tandem-*", "new", "old"

// A LostError says that the bundle to replace is no longer in its place, and where it is.
type LostError struct {
	At  string // where it is
	Err error
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf(
		"the old Tandem lies in %s, the next start tries to put it back: %v", e.At, e.Err)
}

// Unwrap returns the error that stopped the move.
func (e *LostError) Unwrap() error { return e.Err }

// move copies a bundle into a folder of applications as Tandem.app, replaces one that is there, and
// returns the path. The copy is complete before anything with that name is touched. If the copy
// cannot be put in place, the old bundle is restored. If that fails too, a *LostError says where
// the old bundle is.
//
// The original stays. It may be in an image that cannot be written, and a translocated one does not
// say where it came from. Files that cannot be removed after the copy is in place are only logged.
//
// The system's note about the download is not copied. A user who copies a program that they have
// allowed to run gets the same.
func move(rename func(from, to string) error, log *slog.Logger,
	bundle, applications string) (string, error) {
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
			log.Warn(
				"a folder of the move to Applications is left over", "path", work, "error", err)
		}
	}()
	fresh, old, target := filepath.Join(work, comes), filepath.Join(work, goes),
		filepath.Join(applications, appName)
	if err := os.CopyFS(fresh, os.DirFS(bundle)); err != nil {
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

// repairMoves finishes an interrupted move. The old bundle is restored if nothing took its place,
// and the rest is removed. The folder of another user's move cannot be read, and is left alone.
func repairMoves(log *slog.Logger, applications string) {
	left, err := filepath.Glob(filepath.Join(applications, workPattern))
	if err != nil {
		log.Warn("cannot look for interrupted moves to Applications", "error", err)
	}
	for _, work := range left {
		entries, err := os.ReadDir(work)
		if err != nil || slices.ContainsFunc(entries,
			func(e fs.DirEntry) bool { return e.Name() != comes && e.Name() != goes }) {
			continue
		}
		old, target := filepath.Join(work, goes), filepath.Join(applications, appName)
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(old, target); err == nil {
				log.Info("the old Tandem of an interrupted move is back", "path", target)
			} else if !errors.Is(err, fs.ErrNotExist) {
				log.Warn(
					"cannot put back the old Tandem of an interrupted move",
					"path", old, "error", err)
				continue
			}
		}
		if err := os.RemoveAll(work); err != nil {
			log.Warn(
				"a folder of the move to Applications is left over", "path", work, "error", err)
		}
	}
}
