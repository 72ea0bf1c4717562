package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/supervise"
)

// inBundle is where the program is in a bundle.
const inBundle = "/Contents/Resources/bin/tandem"

// CommandLine implements server.Help.
func (a *App) CommandLine(context.Context) (control.CommandLine, error) {
	dir := filepath.Join(a.opts.UserHome, ".local", "bin")
	c := control.CommandLine{
		Path: filepath.Join(dir, "tandem"), Program: a.opts.Program,
		OnPath:   slices.Contains(filepath.SplitList(a.opts.Path), dir),
		PathLine: `export PATH="$HOME/.local/bin:$PATH"`,
	}
	var err error
	c.Link, err = linkKind(c.Path, c.Program)
	return c, err
}

// linkKind returns what is at the path where the link to the program belongs.
func linkKind(path, program string) (control.LinkKind, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return control.LinkAbsent, nil
	case err != nil:
		return "", home.WriteError(err)
	case info.Mode()&fs.ModeSymlink == 0:
		return control.LinkForeign, nil
	}
	to, err := os.Readlink(path)
	if err != nil {
		return "", home.WriteError(err)
	}
	if to == program {
		return control.LinkOurs, nil
	}
	if strings.HasSuffix(to, "/Tandem.app"+inBundle) { // any other link leads to another program
		return control.LinkStale, nil
	}
	return control.LinkForeign, nil
}

// LinkCommandLine implements server.Help. It replaces a link of Tandem's own and no other file.
func (a *App) LinkCommandLine(ctx context.Context) (control.CommandLine, error) {
	c, err := a.CommandLine(ctx)
	if err != nil {
		return c, err
	}
	bundle, ok := strings.CutSuffix(c.Program, inBundle)
	if !ok {
		bundle = ""
	}
	location := supervise.LocationOf(bundle, a.opts.UserHome)
	switch {
	case c.Program == "" || a.opts.UserHome == "":
		return c, control.Errorf(control.CodeFolder,
			"Tandem cannot find its own program or your home folder, so it made no link.")
	case location == supervise.Translocated:
		return c, control.Errorf(control.CodeFolder,
			"macOS runs Tandem from a place that will be gone; move Tandem to Applications and open it there first.")
	case location == supervise.Elsewhere:
		return c, control.Errorf(control.CodeFolder,
			"Tandem runs from %s, which may not stay there; move it to Applications and open it there first.", bundle)
	case c.Link == control.LinkForeign:
		return c, control.Errorf(control.CodeFolder,
			"%s is another file, which Tandem does not replace; move it away, or link %s by hand.",
			c.Path, c.Program)
	case c.Link == control.LinkOurs:
		return c, nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return c, linkError(c.Path, err)
	}
	if c.Link == control.LinkStale {
		err = os.Remove(c.Path)
	}
	if err == nil {
		err = os.Symlink(c.Program, c.Path) // it fails if another file came there meanwhile
	}
	if err != nil {
		return c, linkError(c.Path, err)
	}
	return a.CommandLine(ctx)
}

func linkError(path string, err error) error {
	return &control.Error{Code: control.CodeFolder, Err: err,
		Message: fmt.Sprintf("%s cannot be made: %v.", path, err)}
}
