package library

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"tandem/app/control"
	"tandem/app/pool"
	"tandem/storage"
)

// revealWithin is how long the program that shows files may take to begin.
const revealWithin = 10 * time.Second

// Reveal shows the files of a model or a drafter: chosen in the Finder on a Mac, elsewhere their
// folder. It implements server.Library. Error: CodeModelNotFound, or CodeInvalid where nothing shows
// files.
func (l *Library) Reveal(ctx context.Context, id string) error {
	row, err := l.db.Model(ctx, id)
	path := row.Path
	if storage.IsNotFound(err) {
		if f, err := l.db.DrafterFile(ctx, id); err == nil {
			return reveal(ctx, f.Path)
		}
	}
	if err != nil {
		return pool.NotRegistered(err, id)
	}
	return reveal(ctx, path)
}

func reveal(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, revealWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "xdg-open", filepath.Dir(path))
	if runtime.GOOS == "darwin" {
		cmd = exec.CommandContext(ctx, "/usr/bin/open", "-R", path)
	}
	if err := cmd.Run(); err != nil {
		return control.Errorf(control.CodeInvalid, "No program shows folders here (%w). The files are in %s.", err, path)
	}
	return nil
}
