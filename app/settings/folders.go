package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"tandem/app/control"
	"tandem/storage/disk"
)

// checkFolders refuses folders that cannot work, if they differ from before and from the default. A
// folder that was set before is accepted: it may lie on a disk that is missing now.
func checkFolders(defaults, before, next control.Settings) error {
	if next.HubCache != before.HubCache && next.HubCache != defaults.HubCache {
		if problem := cannotHold(next.HubCache); problem != "" {
			return badFolder("hub_cache", next.HubCache, problem)
		}
	}
	for _, dir := range next.ModelFolders {
		if slices.Contains(before.ModelFolders, dir) {
			continue
		}
		if problem := cannotList(dir); problem != "" {
			return badFolder("model_folders", dir, problem)
		}
	}
	return nil
}

func badFolder(name, dir, problem string) error {
	return &control.Error{Code: control.CodeInvalid, Param: name,
		Message: fmt.Sprintf("%s cannot have %s: %s.", name, dir, problem)}
}

// cannotHold returns why a folder can be neither read nor made, or an empty text. A folder that
// cannot be written is accepted, because its models can be used.
func cannotHold(dir string) string {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := disk.Stat(at)
		switch {
		case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) &&
			at != filepath.Dir(at):
			continue // it can be made if its parent allows
		case err != nil:
			return reasonOf(at, err)
		case !info.IsDir():
			return at + " is no folder"
		}
		if at == filepath.Clean(dir) {
			return cannotList(at)
		}
		return reasonOf(at, unix.Access(at, unix.W_OK|unix.X_OK))
	}
}

// cannotList returns why a folder cannot be searched, or an empty text.
func cannotList(dir string) string {
	info, err := disk.Stat(dir)
	switch {
	case err != nil:
		return reasonOf(dir, err)
	case !info.IsDir():
		return dir + " is no folder"
	}
	_, err = disk.ReadDir(dir, 1)
	return reasonOf(dir, err)
}

// reasonOf returns what is wrong with a path, or an empty text.
func reasonOf(path string, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such folder; make it first"
	case errors.Is(err, syscall.ENOTDIR):
		return "it lies in a file"
	case errors.Is(err, fs.ErrPermission):
		return "Tandem has no permission for " + path
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Sprintf("%s cannot be used (%v)", path, err)
}
