package main

import (
	"context"
	"os/exec"
	"path/filepath"
)

// pocketVerb runs the training recipe of the pocket model in an environment of its own. Its checkpoints lie in
// TANDEM_CACHE, a folder of the cache that survives a killed run, so that the next one resumes.
func pocketVerb(ctx context.Context, b *builder, args []string) error {
	python, err := b.venv(ctx, "pocket", "build/pocket/requirements.txt")
	if err != nil {
		return err
	}
	cmd := exec.Command(python, append([]string{filepath.Join("build", "pocket", "run.py")}, args...)...)
	cmd.Dir = b.root
	cmd.Env = append(b.environ(), "TANDEM_CACHE="+filepath.Join(b.cache.dir, "pocket"))
	return foreground(cmd)
}
