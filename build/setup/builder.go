package setup

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A Builder carries what every verb needs.
type Builder struct {
	Root  string    // the checkout: the folder of go.mod
	Cache Cache     // everything made outside the checkout
	Out   io.Writer // progress and results for a person
}

// TopDirs are the folders at the top of the checkout. Nothing is added beside them.
var TopDirs = []string{"app", "build", "engine", "frontend", "models", "storage"}

// New finds the checkout around the working folder, and this user's cache.
func New() (*Builder, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := findRoot(dir)
	if err != nil {
		return nil, err
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no cache folder (set HOME or XDG_CACHE_HOME): %w", err)
	}
	b := &Builder{Root: root, Cache: Cache{Dir: filepath.Join(user, "tandem-dev")}, Out: os.Stdout}
	b.Cache.waiting = func(lock string) {
		fmt.Fprintf(b.Out,
			"another run holds %s; waiting for it\n", lock)
	}
	return b, nil
}

// findRoot walks up from dir to the folder whose go.mod names this module.
func findRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		mod, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module tandem\n") {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not inside a checkout of tandem", dir)
		}
	}
}
