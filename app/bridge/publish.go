package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// author is who commits results.
var author = []string{"GIT_AUTHOR_NAME=tandem-bridge", "GIT_AUTHOR_EMAIL=tandem-bridge@localhost",
	"GIT_COMMITTER_NAME=tandem-bridge", "GIT_COMMITTER_EMAIL=tandem-bridge@localhost"}

// A Publisher pushes the results of a run to the branch of its request.
//
// The run's commands could write into the checkout's .git, so no git runs there. A fresh repository
// without settings uses the checkout's objects and pushes only to the URL.
type Publisher struct {
	Dir    string // the checkout
	URL    string // of the repository: https:// or file:///
	Commit string // hash of the branch's commit when it was checked out
	Token  string // for https; git gets it through the environment, never as an argument
	Getenv func(string) string

	extra []string // variables of git in tests
}

// Publish pushes the results of the manifest. The branch on the remote must still be p.Commit, so
// results never reach another commit.
func (p *Publisher) Publish(ctx context.Context, branch, manifest string) error {
	if !branchForm.MatchString(branch) {
		return notBridge(branch)
	}
	scheme, err := pushScheme(p.URL)
	if err != nil {
		return err
	}
	if !hashForm.MatchString(p.Commit) {
		return fmt.Errorf("%.80q is no commit's hash; give --commit what the branch was when it was checked out",
			p.Commit)
	}
	checkout, err := os.OpenRoot(p.Dir)
	if err != nil {
		return err
	}
	defer checkout.Close()
	out, files, err := resultsOf(checkout, branch, manifest)
	if err != nil {
		return err
	}
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(files)) {
		changes = append(changes, change{path.Join(out.dir, name), files[name]})
	}
	temp, err := os.MkdirTemp("", "tandem-bridge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	r, err := p.freshRepository(ctx, temp, scheme)
	if err != nil {
		return err
	}
	commit, err := r.commit(ctx, p.Commit, "", "bridge: results of "+path.Base(branch)+"\n", changes,
		author...)
	if err != nil {
		return fmt.Errorf("the results cannot be committed: %w", err)
	}
	trees, err := r.line(ctx, "rev-parse", p.Commit+"^{tree}", commit+"^{tree}")
	if err != nil {
		return err
	}
	if before, after, _ := strings.Cut(trees, "\n"); before == after {
		return nil // they are on the branch already
	}
	full := "refs/heads/" + branch
	_, err = r.gitWith(ctx, p.credential(scheme), nil, "push", "--quiet",
		"--force-with-lease="+full+":"+p.Commit, "--", p.URL, commit+":"+full)
	if err != nil {
		return fmt.Errorf("the results were not sent to %s: %w", branch, err)
	}
	return nil
}

// resultsOf returns the results of the manifest, which must belong to the branch.
func resultsOf(checkout *os.Root, branch, manifest string) (results, map[string][]byte, error) {
	out := results{checkout, path.Join(resultsFolder, rejectedFolder)}
	text, err := readManifest(checkout, manifest)
	if err != nil {
		return out, nil, err
	}
	if q, err := Parse(text); err == nil {
		if !isBranchOf(branch, q) {
			return out, nil, fmt.Errorf("the manifest asks for %s with the nonce %s, which is not what %s is for",
				q.Preset.Name, q.Nonce, branch)
		}
		if ran := (results{checkout, path.Join(resultsFolder, q.Nonce)}); ran.has(summaryFile) {
			out = ran
		}
	}
	files, err := out.files()
	if err == nil && files[summaryFile] == nil {
		err = errors.New("there are no results; `tandem-lab bridge run` makes them")
	}
	return out, files, err
}

// pushScheme returns the scheme of an address that results may go to. Others name programs,
// machines that are not authenticated, or a password.
func pushScheme(address string) (string, error) {
	u, err := url.Parse(address)
	plain := err == nil && u.User == nil && u.Opaque == "" && !strings.ContainsAny(address, "?#") &&
		!strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c > '~' })
	switch {
	case plain && u.Scheme == "https" && u.Hostname() != "",
		plain && u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path):
		return u.Scheme, nil
	}
	return "", errors.New(
		"results go to an address https://HOST/PATH or file:///PATH without a name or password in it; give --url the repository's")
}

// freshRepository makes a bare repository in temp that has the checkout's objects. Its git reads
// none of the machine's settings, and only speaks the protocol of scheme.
func (p *Publisher) freshRepository(ctx context.Context, temp, scheme string) (*Repository, error) {
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(dir, ".git", "objects")
	if info, err := os.Stat(objects); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no git checkout of its own; publish in the one that ran the request",
			printable(dir))
	}
	program, err := findProgram("git", func(string) string { return systemPath },
		append(slices.Clone(installed), filepath.SplitList(p.Getenv("PATH"))...))
	if err != nil {
		return nil, fmt.Errorf("the bridge needs git: %w", err)
	}
	bare := filepath.Join(temp, "results.git")
	if err := os.Mkdir(bare, 0o700); err != nil {
		return nil, err
	}
	r := &Repository{dir: bare, program: program, env: append(plainEnv(temp, p.Getenv),
		append(p.extra, "GIT_ALLOW_PROTOCOL="+scheme)...)}
	if err := r.initFrom(ctx, true, objects, p.Commit); err != nil {
		return nil, err
	}
	return r, nil
}

// credential returns the variables by which git logs in: with the token, only at the URL.
func (p *Publisher) credential(scheme string) []string {
	if scheme != "https" {
		return nil
	}
	settings := [][2]string{
		{"http.followRedirects", "false"},
		{"credential.helper", ""}, // clears what the installation of git may have
		{"credential.useHttpPath", "true"},
		{"credential." + p.URL + ".helper",
			`!f() { echo username=x-access-token; echo "password=$TANDEM_BRIDGE_PUSH"; }; f`},
	}
	env := []string{"TANDEM_BRIDGE_PUSH=" + p.Token,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}
