package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A workFolder holds the files of one commit for the commands of one run. The checkout may have
// changes that git does not show, such as files that a setting of the machine ignores. The work
// folder has no such files.
type workFolder struct {
	*os.Root        // the files
	top      string // the folder to remove
}

// makeWorkFolder gives the plan a folder with the files of its commit. Its [Folder] is a link to
// the checkout's, for reports. Call removeWorkFolder afterwards, even after an error. It first
// removes what a killed run left of the folder.
func (r *Runner) makeWorkFolder(ctx context.Context, p *plan) error {
	checkout, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	top := r.workPath()
	if err := removeTree(top); err != nil {
		return fmt.Errorf("the folder of an earlier run cannot be removed: %w", err)
	}
	if err := os.Mkdir(top, 0o700); err != nil {
		return fmt.Errorf("the folder of the run cannot be made: %w", err)
	}
	p.folder = &workFolder{top: top}
	return p.folder.fill(ctx, p, filepath.Join(checkout, Folder), r.Getenv)
}

// workPath returns the place of the work folder, the same for each run: Go compiles a package again
// if its path changes. Runs with one state folder do not overlap, so they share the place. It is
// not in the state folder, whose path has a space on a Mac.
func (r *Runner) workPath() string {
	state := sha256.Sum256([]byte(r.State))
	return filepath.Join(cmp.Or(r.Getenv("RUNNER_TEMP"), os.TempDir()),
		fmt.Sprintf("tandem-bridge-%x", state[:4]))
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

// removeWorkFolder removes the folder.
func (r *Runner) removeWorkFolder(p *plan) {
	w := p.folder
	if w == nil {
		return
	}
	if w.Root != nil {
		w.Close()
	}
	if err := removeTree(w.top); err != nil {
		fmt.Fprintf(r.Err, "bridge: the folder of the run stays: %v\n", err)
	}
}

// removeTree removes a folder, even if a command removed its write permission. A link is removed,
// not its target.
func removeTree(top string) error {
	if info, err := os.Lstat(top); err == nil && info.IsDir() {
		os.Chmod(top, 0o700) // RemoveAll reports what is left
		if root, err := os.OpenRoot(top); err == nil {
			defer root.Close()
			fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, _ error) error {
				if d != nil && d.IsDir() {
					root.Chmod(name, 0o700)
				}
				return nil
			})
		}
	}
	return os.RemoveAll(top)
}
