package bridge

import (
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clone is the Mac's checkout of a branch.
func (p *pair) clone(branch string) *Repository {
	p.t.Helper()
	dir := filepath.Join(p.t.TempDir(), "mac")
	testGit(p.t, p.t.TempDir(), "clone", "-q", p.hub, dir)
	testGit(p.t, dir, "checkout", "-q", branch)
	r, err := OpenRepository(p.t.Context(), dir, gitEnv())
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// publish pushes the results in a checkout of the Mac to the hub.
func (p *pair) publish(mac *Repository, commit, branch string) error {
	publisher := Publisher{Dir: mac.dir, URL: "file://" + p.hub, Commit: commit, Token: "s3cr3t",
		Getenv: func(string) string { return "" }}
	return publisher.Publish(p.t.Context(), branch, ManifestFile)
}

// ended writes results of a run into a checkout.
func ended(t *testing.T, r *Repository, folder, summary string) {
	t.Helper()
	write(t, filepath.Join(r.dir, resultsFolder, folder, summaryFile), summary)
	write(t, filepath.Join(r.dir, resultsFolder, folder, "0-go.log"), "the log\n")
}

const endedSummary = `{"schema_version": 1, "preset": "probe", "nonce": "nonce-1", "exit_code": 0,
	"commands": [{"argv": ["go"], "exit_code": 0, "seconds": 1.5, "log": "0-go.log"}]}`

func TestResultsComeBack(t *testing.T) {
	p := newPair(t)
	asked := p.ask()
	res, err := p.Status(t.Context(), "origin", asked.Branch)
	if err != nil || res.Summary != nil || res.Request == nil || res.Commit != asked.Commit {
		t.Fatalf("before the run: %+v, %v", res, err)
	}
	mac := p.clone(asked.Branch)
	if err := p.publish(mac, asked.Commit, asked.Branch); err == nil {
		t.Error("publishing nothing succeeds")
	}
	ended(t, mac, "nonce-1", endedSummary)
	if err := os.Symlink("/etc/passwd", filepath.Join(mac.dir, resultsFolder, "nonce-1/passwd")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(mac.dir, resultsFolder, "nonce-1/sub/x"), "x")
	write(t, filepath.Join(mac.dir, resultsFolder, "nonce-1/.hidden"), "x")
	write(t, filepath.Join(mac.dir, "a.txt"), "changed by a command\n")
	if err := p.publish(mac, asked.Commit, asked.Branch); err != nil {
		t.Fatal(err)
	}
	diff := testGit(t, p.hub, "diff", "--name-status", asked.Commit, asked.Branch)
	if diff != "A\t.tandem-bridge/results/nonce-1/0-go.log\nA\t.tandem-bridge/results/nonce-1/summary.json" {
		t.Errorf("the results are %q", diff)
	}
	before := p.state()
	res, err = p.Wait(t.Context(), "origin", asked.Branch, 0, time.Second)
	if err != nil || res.Summary == nil || res.Summary.Commands[0].Seconds != 1.5 {
		t.Fatalf("after the run: %+v, %v", res, err)
	}
	out := filepath.Join(t.TempDir(), "out")
	names, err := p.Save(t.Context(), res, out)
	if err != nil || len(names) != 2 || read(t, filepath.Join(out, "0-go.log")) != "the log\n" {
		t.Errorf("saved %q, %v", names, err)
	}
	if p.state() != before || testGit(t, p.dir, "for-each-ref", "refs/tandem-bridge") != "" {
		t.Errorf("the checkout is\n%s", p.state())
	}
	// A link in the folder leads no file out of it.
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "mine")
	other := t.TempDir()
	if err := os.Symlink(victim, filepath.Join(other, "0-go.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Save(t.Context(), res, other); err == nil || read(t, victim) != "mine" {
		t.Errorf("saving followed a link: %v", err)
	}
}

// Results go to the branch of their request, as it was when it was checked out, or nowhere.
func TestResultsReachNoOtherBranch(t *testing.T) {
	p := newPair(t)
	asked := p.ask()
	other, err := NewRequest("probe", nil, p.head, "a test", "nonce-2")
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Request(t.Context(), other, "", "origin")
	if err != nil {
		t.Fatal(err)
	}
	// Their commits are equal but for the manifest, so each is new to the other's branch.
	testGit(t, p.hub, "update-ref", "refs/heads/tandem-bridge/probe-nonce-1-same", asked.Commit+"^")
	// This one is the request's commit, and not for its manifest.
	testGit(t, p.hub, "update-ref", "refs/heads/tandem-bridge/tests-nonce-1", asked.Commit)
	mac := p.clone(asked.Branch)
	ended(t, mac, "nonce-1", endedSummary)
	before := testGit(t, p.hub, "for-each-ref")
	for _, branch := range []string{"main", "tandem-bridge/../main", "refs/heads/main", "",
		second.Branch, "tandem-bridge/probe-nonce-12", "tandem-bridge/probe-nonce-1-same",
		"tandem-bridge/probe-nonce-1-new", "tandem-bridge/tests-nonce-1", "--all"} {
		if err := p.publish(mac, asked.Commit, branch); err == nil {
			t.Errorf("results reach %q", branch)
		}
	}
	// The branch moved meanwhile.
	testGit(t, p.hub, "update-ref", "refs/heads/"+asked.Branch, second.Commit)
	if err := p.publish(mac, asked.Commit, asked.Branch); err == nil {
		t.Error("results reach a branch that moved")
	}
	testGit(t, p.hub, "update-ref", "refs/heads/"+asked.Branch, asked.Commit)
	if after := testGit(t, p.hub, "for-each-ref"); after != before {
		t.Errorf("the remote had\n%s\nand has\n%s", before, after)
	}
	if err := p.publish(mac, asked.Commit, asked.Branch); err != nil {
		t.Errorf("the right branch: %v", err)
	}
}

// Nothing that a run's command leaves in .git, or sets for later steps, is obeyed by the push: no
// program of its runs, and nothing goes to another address.
func TestPushObeysNoSettings(t *testing.T) {
	p := newPair(t)
	asked := p.ask()
	mac := p.clone(asked.Branch)
	ended(t, mac, "nonce-1", endedSummary)
	dir := t.TempDir()
	steal, stolen, thief := filepath.Join(dir, "steal"), filepath.Join(dir, "stolen"),
		filepath.Join(dir, "thief.git")
	writeScript(t, steal, "echo $0 $@ >> "+stolen+"\nenv >> "+stolen+"\nexit 1\n")
	testGit(t, dir, "init", "-q", "--bare", thief)
	hub := "file://" + p.hub
	for _, setting := range [][2]string{
		{"remote.origin.pushurl", "file://" + thief}, {"url.file://" + thief + ".insteadOf", hub},
		{"url.file://" + thief + ".pushInsteadOf", hub}, {"remote." + hub + ".pushurl", thief},
		{"remote." + hub + ".receivepack", steal}, {"credential.helper", "!" + steal},
		{"core.sshCommand", steal}, {"core.askPass", steal}, {"core.gitProxy", steal},
		{"core.fsmonitor", steal}, {"core.alternateRefsCommand", steal}, {"alias.push", "!" + steal},
		{"commit.gpgSign", "true"}, {"push.gpgSign", "if-asked"}, {"gpg.program", steal},
		{"core.pager", steal}, {"core.editor", steal}, {"diff.external", steal},
		{"filter.x.clean", steal}, {"filter.x.process", steal}, {"protocol.ext.allow", "always"},
		{"push.recurseSubmodules", "on-demand"}, {"push.negotiate", "true"},
		{"include.path", filepath.Join(dir, "more")}, {"core.hooksPath", filepath.Join(dir, "hooks")},
	} {
		testGit(t, mac.dir, "config", setting[0], setting[1])
	}
	write(t, filepath.Join(dir, "more"), "[remote \"origin\"]\n\tpushurl = ext::"+steal+"\n")
	write(t, filepath.Join(mac.dir, ".git/info/attributes"), "* filter=x\n")
	for _, folder := range []string{filepath.Join(dir, "hooks"), filepath.Join(mac.dir, ".git/hooks")} {
		for _, hook := range []string{"pre-push", "reference-transaction", "post-index-change",
			"pre-commit", "pre-receive", "update", "post-update", "push-to-checkout", "pre-auto-gc"} {
			writeScript(t, filepath.Join(folder, hook), steal+"\n")
		}
	}
	for name, value := range map[string]string{"GIT_SSH_COMMAND": steal, "GIT_ASKPASS": steal,
		"GIT_EXEC_PATH": dir, "GIT_TEMPLATE_DIR": dir, "GIT_CONFIG_GLOBAL": filepath.Join(dir, "more"),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": steal,
		"HOME": dir, "GIT_DIR": filepath.Join(mac.dir, ".git")} {
		t.Setenv(name, value)
	}
	write(t, filepath.Join(dir, ".gitconfig"), "[core]\n\tfsmonitor = "+steal+"\n")

	if err := p.publish(mac, asked.Commit, asked.Branch); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(stolen); err == nil {
		t.Errorf("a program that a command left ran:\n%s", text)
	}
	if refs := testGit(t, thief, "for-each-ref"); refs != "" {
		t.Errorf("another repository got %s", refs)
	}
	if n := testGit(t, p.hub, "rev-list", "--count", asked.Commit+".."+asked.Branch); n != "1" {
		t.Errorf("the hub has %s new commits", n)
	}
	// Git in the checkout does obey them.
	git := exec.Command("git", "push", "origin", "HEAD:refs/heads/x")
	git.Dir, git.Env = mac.dir, append(gitEnv(), "PUSH_TOKEN=s3cr3t")
	git.Run()
	if text, err := os.ReadFile(stolen); err != nil || !strings.Contains(string(text), "s3cr3t") {
		t.Errorf("the settings of this test do nothing: %q, %v", text, err)
	}
}

// A tlsHub serves the hub over https to who has the token.
type tlsHub struct {
	*httptest.Server
	refused, served int
}

func (p *pair) serve(token string) *tlsHub {
	p.t.Helper()
	testGit(p.t, p.hub, "config", "http.receivepack", "true")
	h := &tlsHub{}
	backend := &cgi.Handler{Path: filepath.Join(testGit(p.t, p.hub, "--exec-path"), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(p.hub), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}}
	login := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != login {
			h.refused++
			w.Header().Set("WWW-Authenticate", `Basic realm="hub"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.served++
		backend.ServeHTTP(w, q)
	}))
	p.t.Cleanup(h.Close)
	return h
}

// trust returns git's variable by which it trusts a server of this test.
func trust(t *testing.T, servers ...*httptest.Server) string {
	t.Helper()
	file, text := filepath.Join(t.TempDir(), "ca.pem"), ""
	for _, s := range servers {
		text += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
			Bytes: s.Certificate().Raw}))
	}
	write(t, file, text)
	return "GIT_SSL_CAINFO=" + file
}

// The token logs in at the URL, and is in no argument, message or redirect.
func TestTokenReachesTheURLAlone(t *testing.T) {
	p := newPair(t)
	asked := p.ask()
	mac := p.clone(asked.Branch)
	ended(t, mac, "nonce-1", endedSummary)
	hub := p.serve("s3cr3t")
	var elsewhere []string
	away := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		elsewhere = append(elsewhere, q.URL.Path+" "+q.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(away.Close)
	moved := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, away.URL+q.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(moved.Close)
	trace := filepath.Join(t.TempDir(), "trace")
	publisher := Publisher{Dir: mac.dir, Commit: asked.Commit, Getenv: os.Getenv,
		extra: []string{trust(t, hub.Server, away, moved), "GIT_TRACE=" + trace,
			"GIT_TRACE_CURL=" + trace}}
	publish := func(url, token string) error {
		publisher.URL, publisher.Token = url+"/"+filepath.Base(p.hub), token
		return publisher.Publish(t.Context(), asked.Branch, ManifestFile)
	}
	for name, test := range map[string]struct{ url, token string }{
		"a redirect":  {moved.URL, "s3cr3t"},
		"wrong token": {hub.URL, "0ther"},
		"no token":    {hub.URL, ""},
	} {
		if err := publish(test.url, test.token); err == nil || strings.Contains(err.Error(), "s3cr3t") ||
			strings.Contains(err.Error(), "0ther") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(elsewhere) > 0 || hub.served > 0 {
		t.Errorf("a redirect was followed: %q; %d requests without the token were served", elsewhere,
			hub.served)
	}
	if err := publish(hub.URL, "s3cr3t"); err != nil {
		t.Fatal(err)
	}
	if hub.served == 0 || testGit(t, p.hub, "rev-list", "--count", asked.Commit+".."+asked.Branch) != "1" {
		t.Errorf("after %d requests the hub has no results", hub.served)
	}
	if text := read(t, trace); !strings.Contains(text, "git push") || strings.Contains(text, "s3cr3t") {
		t.Errorf("git was called so:\n%s", text)
	}
}

// Results go over https with proof of the host, or to a folder of this machine.
func TestOtherAddressesAreRefused(t *testing.T) {
	for _, address := range []string{"", "origin", "/srv/x.git", "http://example.org/x", "git://example.org/x",
		"ssh://example.org/x", "git@example.org:x", "ext::sh -c touch% canary", "file://host/x", "file:x",
		"https://me:s3cr3t@example.org/x", "https://me@example.org/x", "https:///x", "https:x", "-o",
		"https://example.org/x y", "https://example.org/x\n", "https://example.org/x?y", "HTTPS::x",
		"https://example.org/#x"} {
		if scheme, err := pushScheme(address); err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %q, %v", address, scheme, err)
		}
	}
	for address, want := range map[string]string{"https://github.com/a/b": "https",
		"https://ghe.example.org:8443/a/b.git": "https", "file:///srv/x.git": "file"} {
		if scheme, err := pushScheme(address); err != nil || scheme != want {
			t.Errorf("%q: %q, %v", address, scheme, err)
		}
	}
}

// The checkout of a workflow has few commits, and that is enough. A work tree does not count as
// one.
func TestPushFromAShallowCheckout(t *testing.T) {
	p := newPair(t)
	asked := p.ask()
	mac := &Repository{dir: filepath.Join(t.TempDir(), "mac")}
	testGit(t, p.dir, "clone", "-q", "--depth=1", "--branch="+asked.Branch, "file://"+p.hub, mac.dir)
	ended(t, mac, "nonce-1", endedSummary)
	if err := p.publish(mac, p.head, asked.Branch); err == nil ||
		!strings.HasPrefix(err.Error(), "the checkout does not have the commit ") {
		t.Errorf("on a commit that is not here: %v", err)
	}
	if err := p.publish(mac, "HEAD", asked.Branch); err == nil {
		t.Error("HEAD counts as a hash")
	}
	if err := p.publish(mac, asked.Commit, asked.Branch); err != nil {
		t.Fatal(err)
	}
	before := testGit(t, p.hub, "for-each-ref")
	if n := testGit(t, p.hub, "rev-list", "--count", asked.Branch); n != "3" {
		t.Errorf("the branch has %s commits", n)
	}
	tree := &Repository{dir: filepath.Join(t.TempDir(), "tree")}
	testGit(t, mac.dir, "worktree", "add", "-q", tree.dir, asked.Commit)
	ended(t, tree, "nonce-1", endedSummary)
	if err := p.publish(tree, asked.Commit, asked.Branch); err == nil ||
		testGit(t, p.hub, "for-each-ref") != before {
		t.Errorf("from a work tree: %v", err)
	}
}
