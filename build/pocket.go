package main

import (
	"context"
	"os/exec"
	"path/filepath"

	"tandem/build/program"
	"tandem/build/setup"
)

// pocketCache is the cache's folder for the state of the training.
const pocketCache = "pocket"

// pocketVerb trains the pocket model and its drafter in a Python environment of its own.
// Checkpoints lie in TANDEM_CACHE, a folder of the cache that survives a killed run. The next run
// resumes from them.
func pocketVerb(ctx context.Context, b *setup.Builder, args []string) error {
	if err := b.InstallSystem(ctx); err != nil {
		return err
	}
	python, err := b.Venv(ctx, setup.Venv{Name: "pocket",
		Requirements: "build/pocket/requirements.txt", Resolve: true})
	if err != nil {
		return err
	}
	cmd := exec.Command(python, append([]string{filepath.Join("build", "pocket", "run.py")},
		args...)...)
	cmd.Dir = b.Root
	cmd.Env = append(b.Environ(), "TANDEM_CACHE="+filepath.Join(b.Cache.Dir, pocketCache))
	return program.Foreground(cmd)
}
