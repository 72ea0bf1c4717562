package home

import (
	"os"
	"path/filepath"
)

// cacheTag is the content of the file CACHEDIR.TAG, by which tools for backups know a folder whose
// content need not be kept (bford.info/cachedir).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n"

// WithoutBackup makes a folder of the home folder, which only its owner may read, and marks it so
// that backups leave it out: for Time Machine on a Mac, and by a CACHEDIR.TAG for other tools.
func WithoutBackup(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tag := filepath.Join(dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(tag); err == nil {
		return nil
	}
	if err := excludeFromTimeMachine(dir); err != nil {
		return err
	}
	return WritePrivate(tag, cacheTag)
}
