package library

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"tandem/app/control"
)

// revealWithin is how long the program that shows files may take to begin.
const revealWithin = 10 * time.Second

// Reveal shows the files of a model or a drafter: chosen in the Finder on a Mac, elsewhere their
// folder. It implements server.Library. Error: CodeModelNotFound, or CodeInvalid where nothing shows
// files.
func (l *Library) Reveal(ctx context.Context, id string) error {
	row, drafter, err := l.find(ctx, id)
	if err != nil {
		return err
	}
	if drafter != nil {
		return reveal(ctx, drafter.Path)
	}
	return reveal(ctx, row.Path)
}

func reveal(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return control.Errorf(control.CodeInvalid, "The files are not there any more: %w.", err)
	}
	// The folder stays open when the page that asked goes.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revealWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "xdg-open", filepath.Dir(path))
	if runtime.GOOS == "darwin" {
		cmd = exec.CommandContext(ctx, "/usr/bin/open", "-R", path)
	}
	// Some programs run as long as they show the folder.
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return control.Errorf(control.CodeInvalid, "No program shows folders here (%w). The files are in %s.", err, path)
	}
	return nil
}
