package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// BranchPrefix is the prefix of the bridge's branches. The workflow runs only on these.
const BranchPrefix = "tandem-bridge/"

// WorkflowFile is what makes a commit run on the Mac, relative to the checkout.
const WorkflowFile = ".github/workflows/bridge.yml"

// workflowHelp says what to do if WorkflowFile is not in a commit.
const workflowHelp = "take a commit that has it with --ref, or commit a copy of Tandem's file"

var (
	branchForm = regexp.MustCompile(`^tandem-bridge/[a-z0-9][a-z0-9-]{3,159}$`)
	suffixForm = regexp.MustCompile(`^-?[a-z0-9][a-z0-9-]{0,31}$`)
)

// NewNonce returns a nonce that no other request has.
func NewNonce() string {
	b := make([]byte, 4)
	rand.Read(b) // never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b)
}

// BranchOf returns the branch of a request. suffix may begin with a dash.
func BranchOf(q Request, suffix string) (string, error) {
	branch := BranchPrefix + q.Preset.Name + "-" + q.Nonce
	if suffix != "" {
		if !suffixForm.MatchString(suffix) {
			return "", fmt.Errorf("the suffix %.80q must have at most 32 of the signs a-z, 0-9 and -",
				suffix)
		}
		branch += "-" + strings.TrimPrefix(suffix, "-")
	}
	return branch, nil
}

// isBranchOf reports whether a branch belongs to the request.
func isBranchOf(branch string, q Request) bool {
	rest, ok := strings.CutPrefix(branch, BranchPrefix+q.Preset.Name+"-"+q.Nonce)
	return ok && (rest == "" || rest[0] == '-' && suffixForm.MatchString(rest))
}

// checkPlace returns an error unless branch has a name of the bridge's and remote is configured.
func (r *Repository) checkPlace(ctx context.Context, remote, branch string) error {
	if !branchForm.MatchString(branch) {
		return notBridge(branch)
	}
	return r.checkRemote(ctx, remote)
}

func notBridge(branch string) error {
	return fmt.Errorf("%.200q is no branch of the bridge; they begin with %s", branch, BranchPrefix)
}

// Resolve returns the commit that ref names, such as HEAD or origin/main.
func (r *Repository) Resolve(ctx context.Context, ref string) (string, error) {
	hash, err := r.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options",
		ref+"^{commit}")
	if err != nil || !hashForm.MatchString(hash) {
		return "", fmt.Errorf("there is no commit %.80q here", ref)
	}
	return hash, nil
}

// Clean returns an error that names what is not committed.
func (r *Repository) Clean(ctx context.Context) error {
	names, err := r.changed(ctx)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("the work tree has changes (%s); commit them first, since a commit is what runs",
			firstNames(names))
	}
	return err
}

// changed lists the files that differ from the commit that is checked out, and new ones.
func (r *Repository) changed(ctx context.Context) (names []string, err error) {
	out, err := r.git(ctx, nil, "status", "--porcelain=v1", "-z", "--untracked-files=normal",
		"--no-renames")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if len(entry) > 3 {
			names = append(names, printable(entry[3:]))
		}
	}
	return names, nil
}

// An Asked is a request on its branch.
type Asked struct {
	Branch string
	Commit string // of the branch
}

// Request puts a request on a new branch: local without a remote, else only on the remote. The
// request's Ref is the hash of the commit to run. Work tree, index and branch never change.
func (r *Repository) Request(ctx context.Context, q Request, suffix, remote string,
) (Asked, error) {
	branch, err := BranchOf(q, suffix)
	if err != nil {
		return Asked{}, err
	}
	if err := r.ready(ctx, q.Ref, remote); err != nil {
		return Asked{}, err
	}
	commit, err := r.commit(ctx, q.Ref, Folder,
		fmt.Sprintf("bridge: request %s\n\nNonce %s.\n", q.Preset.Name, q.Nonce),
		[]change{{ManifestFile, q.Manifest()}})
	if err != nil {
		return Asked{}, fmt.Errorf("the request cannot be committed: %w", err)
	}
	full := "refs/heads/" + branch
	if remote == "" {
		// The zeros say that the branch must be new.
		_, err = r.git(ctx, nil, "update-ref", full, commit, strings.Repeat("0", len(commit)))
	} else {
		// An empty lease says the same to the remote.
		_, err = r.git(ctx, nil, "push", "--quiet", "--force-with-lease="+full+":", "--", remote,
			commit+":"+full)
	}
	if err != nil {
		return Asked{}, fmt.Errorf("the request was not sent: %w", err)
	}
	return Asked{branch, commit}, nil
}

// ready returns an error if a request of this commit cannot be sent or would not run.
func (r *Repository) ready(ctx context.Context, commit, remote string) error {
	if err := r.Clean(ctx); err != nil {
		return err
	}
	if remote != "" {
		if err := r.checkRemote(ctx, remote); err != nil {
			return err
		}
		if _, err := r.tips(ctx, remote, "refs/heads/"+BranchPrefix+"none"); err != nil {
			return fmt.Errorf("%w, or make the request here alone with --no-push", err)
		}
	}
	workflow, err := r.git(ctx, nil, "ls-tree", "--full-tree", "--name-only", commit, "--",
		WorkflowFile)
	if err != nil {
		return err
	}
	if len(workflow) == 0 {
		return fmt.Errorf("the commit %.12s has no %s, so no Mac would run it; %s", commit,
			WorkflowFile, workflowHelp)
	}
	pointers, err := r.Pointers(ctx, commit)
	if err != nil {
		return err
	}
	if len(pointers) > 0 {
		return fmt.Errorf("the commit %.12s has pointers of Git LFS (%s); the bridge sends no LFS objects, so commit the files themselves or leave them out",
			commit, firstNames(pointers))
	}
	return nil
}

// A Result is the content of a branch of the bridge.
type Result struct {
	Branch  string
	Commit  string   // of the branch
	Request *Request // nil if the runner's version and this one disagree about the manifest
	Summary *Summary // nil until the run has ended

	files []blob // beside the summary, and the summary
}

// Status fetches the branch of a request and reads what is there.
func (r *Repository) Status(ctx context.Context, remote, branch string) (*Result, error) {
	if err := r.checkPlace(ctx, remote, branch); err != nil {
		return nil, err
	}
	full := "refs/heads/" + branch
	tips, err := r.tips(ctx, remote, full)
	if err != nil {
		return nil, err
	}
	tip, ok := tips[full]
	if !ok {
		return nil, fmt.Errorf("the remote %s has no branch %s", remote, branch)
	}
	_, err = r.git(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--", remote, full+":refs/tandem-bridge/"+NewNonce())
	if err != nil {
		return nil, &OfflineError{Remote: remote, Err: err}
	}
	defer r.deleteRefs(context.WithoutCancel(ctx))
	return r.result(ctx, branch, tip)
}

// deleteRefs removes the refs under which results were fetched. Git keeps their commits for a while.
func (r *Repository) deleteRefs(ctx context.Context) {
	out, err := r.git(ctx, nil, "for-each-ref", "--format=delete %(refname)",
		"refs/tandem-bridge/")
	if err == nil && len(out) > 0 {
		r.git(ctx, out, "update-ref", "--stdin") // leftovers do no harm
	}
}

// result reads the results in a commit that is here.
func (r *Repository) result(ctx context.Context, branch, tip string) (*Result, error) {
	all, err := r.blobs(ctx, tip, Folder)
	if err != nil {
		return nil, err
	}
	res := &Result{Branch: branch, Commit: tip}
	folders := map[string][]blob{}
	total := int64(0)
	for _, b := range all {
		if b.name == ManifestFile && b.size <= maxManifest {
			text, err := r.read(ctx, b)
			if err != nil {
				return nil, err
			}
			if q, err := Parse(text); err == nil {
				res.Request = &q
			}
			continue
		}
		dir, name := path.Split(b.name)
		if path.Dir(path.Clean(dir)) == resultsFolder && resultName(name) &&
			strings.HasPrefix(b.mode, "100") && b.size <= maxResultFile {
			folder := path.Base(dir)
			folders[folder] = append(folders[folder], b)
			total += b.size
		}
	}
	if total > maxResults {
		return nil, fmt.Errorf("the results on %s are larger than %d bytes", branch, maxResults)
	}
	if res.Request != nil {
		if !isBranchOf(branch, *res.Request) {
			return nil, fmt.Errorf("the manifest on %s belongs to another branch", branch)
		}
		res.files = folders[res.Request.Nonce]
	}
	if res.files == nil {
		res.files = folders[rejectedFolder]
	}
	for _, b := range res.files {
		if path.Base(b.name) != summaryFile {
			continue
		}
		text, err := r.read(ctx, b)
		if err != nil {
			return nil, err
		}
		if res.Summary, err = parseSummary(text); err != nil {
			return nil, err
		}
		if n := res.Summary.Nonce; res.Request != nil && n != "" && n != res.Request.Nonce {
			return nil, fmt.Errorf("the results on %s belong to another request", branch)
		}
	}
	return res, nil
}

// Wait asks for the status of a branch every so often until the run has ended. A remote that
// cannot be reached is asked again.
func (r *Repository) Wait(ctx context.Context, remote, branch string, limit, pause time.Duration,
) (*Result, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		res, err := r.Status(ctx, remote, branch)
		_, offline := errors.AsType[*OfflineError](err)
		if err == nil && res.Summary != nil || err != nil && !offline {
			return res, err
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return res, err
		}
	}
}

// Read returns a file of the results, such as a log.
func (r *Repository) Read(ctx context.Context, res *Result, name string) ([]byte, error) {
	for _, b := range res.files {
		if path.Base(b.name) == name {
			return r.read(ctx, b)
		}
	}
	return nil, fmt.Errorf("the results have no %s", name)
}

// Save writes the files of the results into dir, which it makes. Files of the same names are
// replaced.
func (r *Repository) Save(ctx context.Context, res *Result, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // a link in dir cannot lead out of it
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var names []string
	for _, b := range res.files {
		text, err := r.read(ctx, b)
		if err != nil {
			return names, err
		}
		name := path.Base(b.name)
		if err := root.WriteFile(name, text, 0o644); err != nil {
			return names, fmt.Errorf("the results cannot be saved: %w", err)
		}
		names = append(names, filepath.Join(dir, name))
	}
	return names, nil
}
