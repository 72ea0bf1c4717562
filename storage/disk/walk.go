package disk

import (
	"io/fs"
	"os"
	"path/filepath"
)

// A Found is something below a folder.
type Found struct {
	Path   string
	Info   fs.FileInfo // of a link itself
	Target string      // of a link
}

// Walk returns everything below a folder but folders, and follows no links. Entries that vanish
// meanwhile are left out.
func Walk(root string) ([]Found, error) {
	return await(root, func() (all []Found, err error) {
		err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			x := Found{Path: path}
			if x.Info, err = e.Info(); err == nil && e.Type()&fs.ModeSymlink != 0 {
				x.Target, err = os.Readlink(path)
			}
			if err == nil {
				all = append(all, x)
			}
			return nil
		})
		return all, err
	})
}
