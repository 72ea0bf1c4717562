package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A workFolder holds the files of one commit for the commands of one run. The checkout may have
// changes that git does not show, such as files that a setting of the machine ignores. Here are none.
type workFolder struct {
	*os.Root        // the files
	top      string // the folder to remove
}

// makeWorkFolder gives the plan a folder with the files of its commit. Its [Folder] leads to that of
// the checkout, for reports. removeWorkFolder is to follow, even after an error. GitHub's runner empties
// RUNNER_TEMP, so after a kill too.
func (r *Runner) makeWorkFolder(ctx context.Context, p *plan) error {
	checkout, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	top, err := os.MkdirTemp(r.Getenv("RUNNER_TEMP"), "tandem-bridge")
	if err != nil {
		return fmt.Errorf("the folder of the run cannot be made: %w", err)
	}
	p.folder = &workFolder{top: top}
	return p.folder.fill(ctx, p, filepath.Join(checkout, Folder), r.Getenv)
}

func (w *workFolder) fill(ctx context.Context, p *plan, results string,
	getenv func(string) string) error {
	top, err := filepath.EvalSymlinks(w.top) // commands learn their folder from the system
	if err == nil {
		top, err = filepath.Abs(top)
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(top, "checkout")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	objects, err := p.repository.line(ctx, "rev-parse", "--git-path", "objects")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(p.repository.dir, objects)
	}
	git := &Repository{dir: dir, program: p.repository.program, env: plainEnv(top, getenv)}
	if err := git.initFrom(ctx, false, objects, p.request.Ref); err != nil {
		return err
	}
	if _, err := git.git(ctx, nil, "checkout", "--quiet", "--detach", p.request.Ref); err != nil {
		return fmt.Errorf("the files of the commit cannot be checked out: %w", err)
	}
	if w.Root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	err = errors.Join(w.RemoveAll(Folder), w.Symlink(results, Folder))
	if err != nil {
		return fmt.Errorf("the folder of results cannot be linked: %w", err)
	}
	return p.request.check(w.Root)
}

// removeWorkFolder removes the folder, even where a command took the right to write.
func (r *Runner) removeWorkFolder(p *plan) {
	w := p.folder
	if w == nil {
		return
	}
	if w.Root != nil {
		defer w.Close()
		fs.WalkDir(w.FS(), ".", func(name string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				w.Chmod(name, 0o700) // RemoveAll says what this leaves
			}
			return nil
		})
	}
	if err := os.RemoveAll(w.top); err != nil {
		fmt.Fprintf(r.Err, "bridge: the folder of the run stays: %v\n", err)
	}
}
