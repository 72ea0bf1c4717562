package main

import (
	"context"
	"os/exec"
	"path/filepath"

	"tandem/build/program"
	"tandem/build/setup"
)

// pocketCache is the recipe's folder in build and, with the state of the training, in the cache.
const pocketCache = "pocket"

// pocketVerb trains the pocket model and its drafter.
func pocketVerb(ctx context.Context, b *setup.Builder, args []string) error {
	return train(ctx, b, pocketCache, args)
}

// train runs the recipe in a folder of build, in a Python environment that all recipes share.
// Checkpoints lie in TANDEM_CACHE, the cache's folder of that name. It survives a killed run, and
// the next one resumes from it.
func train(ctx context.Context, b *setup.Builder, recipe string, args []string) error {
	if err := b.InstallSystem(ctx); err != nil {
		return err
	}
	python, err := b.Venv(ctx, setup.Venv{Name: "pocket",
		Requirements: "build/pocket/requirements.txt", Resolve: true})
	if err != nil {
		return err
	}
	cmd := exec.Command(python, append([]string{filepath.Join("build", recipe, "run.py")}, args...)...)
	cmd.Dir = b.Root
	cmd.Env = append(b.Environ(), "TANDEM_CACHE="+filepath.Join(b.Cache.Dir, recipe))
	return program.Foreground(cmd)
}
