package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	// reachLimit is how long a remote may take to answer.
	reachLimit = 15 * time.Second
	// gitLimit bounds every other command of git. A push sends weights at most once.
	gitLimit = 10 * time.Minute
	// maxGit bounds what git prints, in bytes.
	maxGit = 128 << 20
)

// A Repository is a git checkout. Its methods leave work tree, index and branch as they are.
type Repository struct {
	dir     string // its top
	program string
	env     []string
	reach   time.Duration // reachLimit
}

// repositoryVariables point git to a repository other than the folder's, as in a hook.
var repositoryVariables = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE",
	"GIT_PREFIX", "GIT_CEILING_DIRECTORIES"}

// OpenRepository returns the repository that contains dir.
func OpenRepository(ctx context.Context, dir string, environ []string) (*Repository, error) {
	env := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(repositoryVariables, name)
	})
	getenv := func(name string) string { return lookUp(env, name) }
	program, err := findProgram("git", getenv, installed)
	if err != nil {
		return nil, fmt.Errorf("the bridge needs git: %w", err)
	}
	// Git must not prompt: there may be no one to answer. Messages are read, so they are English.
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
		"GIT_LITERAL_PATHSPECS=1")
	if getenv("GIT_SSH_COMMAND") == "" && getenv("GIT_SSH") == "" {
		env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes -oConnectTimeout=10")
	}
	r := &Repository{dir: dir, program: program, env: env, reach: reachLimit}
	top, err := r.git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s is no git checkout; run this in one: %w", dir, err)
	}
	r.dir = strings.TrimSuffix(string(top), "\n")
	return r, nil
}

// lookUp returns the last value of a variable in a list, as a program gets it.
func lookUp(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Dir returns the top of the checkout.
func (r *Repository) Dir() string { return r.dir }

// git runs git and returns its standard output.
func (r *Repository) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return r.gitWith(ctx, nil, stdin, args...)
}

// gitWith is git with more variables of the environment.
func (r *Repository) gitWith(ctx context.Context, env []string, stdin []byte, args ...string,
) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitLimit,
		fmt.Errorf("it took longer than %v", gitLimit))
	defer cancel()
	stdout, stderr := &capped{most: maxGit}, &capped{most: 64 << 10}
	c := command{argv: append([]string{"git"}, args...), program: r.program, dir: r.dir,
		env: append(slices.Clone(r.env), env...), stdout: stdout, stderr: stderr,
		grace: time.Second, keep: true}
	if stdin != nil {
		c.stdin = bytes.NewReader(stdin)
	}
	code, err := c.run(ctx)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && code != 0:
		err = &gitError{code, lastLine(stderr.String())}
	case err == nil && stdout.full:
		err = errors.New("it printed too much")
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}

// systemPath is where git finds its shell.
const systemPath = "/usr/bin:/bin:/usr/sbin:/sbin"

// routeVariables tell git the way to the remote, and on a Mac the place of git itself.
var routeVariables = []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "DEVELOPER_DIR"}

// plainEnv is the environment of a git that reads none of the machine's settings. home is a folder
// without settings.
func plainEnv(home string, getenv func(string) string) []string {
	env := []string{"PATH=" + systemPath, "HOME=" + home, "TMPDIR=" + home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_LITERAL_PATHSPECS=1"}
	for _, name := range routeVariables {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// initFrom makes a repository in r's folder that borrows objects from another repository's folder.
// It has no settings and no commits before the one that is named.
func (r *Repository) initFrom(ctx context.Context, bare bool, objects, commit string) error {
	if strings.ContainsFunc(objects, unicode.IsControl) {
		return fmt.Errorf("git cannot name the folder %s; use a checkout elsewhere", printable(objects))
	}
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	args := []string{"init", "--quiet", "--template=", "--object-format=" + format}
	gitDir := filepath.Join(r.dir, ".git")
	if bare {
		args, gitDir = append(args, "--bare"), r.dir
	}
	if _, err := r.git(ctx, nil, args...); err != nil {
		return err
	}
	r.env = append(r.env, "GIT_DIR="+gitDir)
	// The checkout of a workflow has no commits before these, so git must not look for them. The
	// bridge's folder does not count as a change, for programs that record their commit.
	for name, text := range map[string]string{"objects/info/alternates": objects,
		"shallow": commit, "info/exclude": "/" + Folder} {
		name = filepath.Join(gitDir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
			os.WriteFile(name, []byte(text+"\n"), 0o600))
		if err != nil {
			return err
		}
	}
	if _, err := r.Resolve(ctx, commit); err != nil {
		return fmt.Errorf("the checkout does not have the commit %.12s", commit)
	}
	return nil
}

// line runs git and returns the one line that it prints.
func (r *Repository) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.git(ctx, nil, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// A gitError is an exit code of git other than 0, with its last words.
type gitError struct {
	code int
	text string
}

func (e *gitError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.text
}

// lastLine returns the last line with a message, without control characters and git's prefix.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	// Hints come last, after the error.
	for _, prefix := range []string{"fatal: ", "error: ", "remote: error: ", " ! "} {
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return printable(rest)
			}
		}
	}
	return printable(lines[len(lines)-1])
}

// printable returns text on one line, without what would move a terminal's cursor.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, strings.TrimSpace(text))
}

// A capped buffer keeps what is written up to its limit.
type capped struct {
	bytes.Buffer
	most int
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.most - c.Len(); len(p) > room {
		c.full = true
		c.Buffer.Write(p[:room])
		return len(p), nil
	}
	return c.Buffer.Write(p)
}

// remoteForm matches names of remotes. URLs are not allowed: some start programs.
var remoteForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// checkRemote returns an error unless a remote of this name is configured.
func (r *Repository) checkRemote(ctx context.Context, remote string) error {
	if !remoteForm.MatchString(remote) {
		return fmt.Errorf("%.80q is not the name of a remote, such as origin", remote)
	}
	if _, err := r.git(ctx, nil, "remote", "get-url", remote); err != nil {
		return fmt.Errorf("there is no remote %s; `git remote add` makes one", remote)
	}
	return nil
}

// tips asks a remote for the commits of branches by their full names: all that match the patterns.
func (r *Repository) tips(ctx context.Context, remote string, patterns ...string,
) (map[string]string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, r.reach,
		fmt.Errorf("no answer within %v", r.reach))
	defer cancel()
	out, err := r.git(limited, nil, append([]string{"ls-remote", "--quiet", "--heads", "--",
		remote}, patterns...)...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &OfflineError{Remote: remote, Err: err}
	}
	tips := map[string]string{}
	for line := range strings.Lines(string(out)) {
		hash, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ok && hashForm.MatchString(hash) {
			tips[name] = hash
		}
	}
	return tips, nil
}

// An OfflineError says that a remote cannot be asked.
type OfflineError struct {
	Remote string
	Err    error
}

func (e *OfflineError) Error() string {
	return fmt.Sprintf("the remote %s cannot be reached (%v); check the network", e.Remote, e.Err)
}

func (e *OfflineError) Unwrap() error { return e.Err }

var hashForm = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// A blob is a file of a commit.
type blob struct {
	name string // its path
	hash string
	size int64
	mode string // such as 100644
}

// blobs lists the files of a commit below a folder; "" is the top. Submodules are left out.
func (r *Repository) blobs(ctx context.Context, commit, folder string) ([]blob, error) {
	args := []string{"ls-tree", "-r", "-l", "-z", "--full-tree", commit}
	if folder != "" {
		args = append(args, "--", folder+"/")
	}
	out, err := r.git(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	var list []blob
	for entry := range strings.SplitSeq(string(out), "\x00") {
		meta, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(meta) // mode, type, hash, size
		if len(fields) != 4 || fields[1] != "blob" {
			continue
		}
		b := blob{name: name, hash: fields[2], mode: fields[0]}
		if _, err := fmt.Sscan(fields[3], &b.size); err != nil {
			return nil, fmt.Errorf("git ls-tree: the size of %q: %w", name, err)
		}
		list = append(list, b)
	}
	return list, nil
}

// read returns the content of one blob.
func (r *Repository) read(ctx context.Context, b blob) ([]byte, error) {
	return r.git(ctx, nil, "cat-file", "blob", b.hash)
}

// Pointers returns the files of a commit that are pointers of Git LFS. The bridge sends no LFS
// objects, so the Mac would find pointers instead of weights.
func (r *Repository) Pointers(ctx context.Context, commit string) ([]string, error) {
	all, err := r.blobs(ctx, commit, "")
	if err != nil {
		return nil, err
	}
	small := slices.DeleteFunc(all, func(b blob) bool {
		return b.size > maxPointer || b.size < int64(len(pointerHead)) ||
			!strings.HasPrefix(b.mode, "100")
	})
	var ask bytes.Buffer
	for _, b := range small {
		ask.WriteString(b.hash + "\n")
	}
	out, err := r.git(ctx, ask.Bytes(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, b := range small {
		head := fmt.Sprintf("%s blob %d\n", b.hash, b.size)
		rest, ok := bytes.CutPrefix(out, []byte(head))
		if !ok || int64(len(rest)) < b.size+1 {
			return nil, errors.New("git cat-file: its answer is cut off")
		}
		if bytes.HasPrefix(rest, []byte(pointerHead)) {
			found = append(found, b.name)
		}
		out = rest[b.size+1:]
	}
	return found, nil
}

// A change is a file to add to a commit.
type change struct {
	name string
	text []byte
}

// commit writes a commit on top of parent. It has parent's files except folder's, and changes. It
// uses a separate index.
func (r *Repository) commit(ctx context.Context, parent, folder, message string, changes []change,
	env ...string) (string, error) {
	dir, err := os.MkdirTemp("", "tandem-bridge")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	env = append(env, "GIT_INDEX_FILE="+dir+"/index")
	if _, err := r.gitWith(ctx, env, nil, "read-tree", parent); err != nil {
		return "", err
	}
	if folder != "" {
		_, err := r.gitWith(ctx, env, nil, "rm", "-r", "-q", "--cached", "--ignore-unmatch", "--",
			folder)
		if err != nil {
			return "", err
		}
	}
	var entries bytes.Buffer
	for _, c := range changes {
		hash, err := r.git(ctx, c.text, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&entries, "100644 %s\t%s\x00", bytes.TrimSpace(hash), c.name)
	}
	_, err = r.gitWith(ctx, env, entries.Bytes(), "update-index", "-z", "--add", "--replace",
		"--index-info")
	if err != nil {
		return "", err
	}
	tree, err := r.gitWith(ctx, env, nil, "write-tree")
	if err != nil {
		return "", err
	}
	hash, err := r.gitWith(ctx, env, []byte(message), "commit-tree", "-p", parent, "-F", "-",
		strings.TrimSpace(string(tree)))
	return strings.TrimSpace(string(hash)), err
}
