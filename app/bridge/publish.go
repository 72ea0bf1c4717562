package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// author is who commits results.
var author = []string{"GIT_AUTHOR_NAME=tandem-bridge", "GIT_AUTHOR_EMAIL=tandem-bridge@localhost",
	"GIT_COMMITTER_NAME=tandem-bridge", "GIT_COMMITTER_EMAIL=tandem-bridge@localhost"}

// Publish pushes the results of the manifest to its branch. The branch on the remote must still be
// the commit that is checked out here, so results never reach another.
func (r *Repository) Publish(ctx context.Context, remote, branch, manifest string) error {
	// A command of the run may have left a hook, which would see the token of the push.
	unhooked := *r
	unhooked.options = []string{"-c", "core.hooksPath=/dev/null"}
	r = &unhooked
	if err := r.checkPlace(ctx, remote, branch); err != nil {
		return err
	}
	checkout, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	defer checkout.Close()
	text, err := readManifest(checkout, manifest)
	if err != nil {
		return err
	}
	out := results{checkout, path.Join(resultsFolder, rejectedFolder)}
	if q, err := Parse(text); err == nil {
		if !isBranchOf(branch, q) {
			return fmt.Errorf("the manifest asks for %s with the nonce %s, which is not what %s is for",
				q.Preset.Name, q.Nonce, branch)
		}
		if ran := (results{checkout, path.Join(resultsFolder, q.Nonce)}); ran.has(summaryFile) {
			out = ran
		}
	}
	files, err := out.files()
	if err != nil {
		return err
	}
	if files[summaryFile] == nil {
		return errors.New("there are no results; `tandem bridge run` makes them")
	}
	head, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(files)) {
		changes = append(changes, change{path.Join(out.dir, name), files[name]})
	}
	commit, err := r.commit(ctx, head, "", "bridge: results of "+path.Base(branch)+"\n", changes,
		author...)
	if err != nil {
		return fmt.Errorf("the results cannot be committed: %w", err)
	}
	trees, err := r.line(ctx, "rev-parse", head+"^{tree}", commit+"^{tree}")
	if err != nil {
		return err
	}
	if before, after, _ := strings.Cut(trees, "\n"); before == after {
		return nil // they are there already
	}
	full := "refs/heads/" + branch
	_, err = r.git(ctx, nil, "push", "--quiet", "--force-with-lease="+full+":"+head, "--", remote,
		commit+":"+full)
	if err != nil {
		return fmt.Errorf("the results were not sent to %s: %w", branch, err)
	}
	return nil
}
