package bridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary send or run one request, as a process that a test can kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BRIDGE_TEST_RUN"); dir != "" {
		r := &Runner{Dir: dir, State: os.Getenv("BRIDGE_TEST_STATE"), Getenv: os.Getenv,
			Err: os.Stderr, folders: []string{}}
		_, err := r.Run(context.Background(), ManifestFile)
		os.Exit(ExitCode(err))
	}
	if dir := os.Getenv("BRIDGE_TEST_REQUEST"); dir != "" {
		r, err := OpenRepository(context.Background(), dir, os.Environ())
		if err == nil {
			_, err = r.Request(context.Background(), request(os.Getenv("BRIDGE_TEST_REF")), "",
				"origin")
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// request returns a request of a commit.
func request(commit string) Request {
	q, err := NewRequest("probe", nil, commit, "a test", "nonce-1")
	if err != nil {
		panic(err)
	}
	return q
}

// A pair is a checkout with its remote, a bare repository.
type pair struct {
	*Repository
	t    *testing.T
	hub  string
	head string // the commit of main
}

func newPair(t *testing.T) *pair {
	t.Helper()
	dir := t.TempDir()
	p := &pair{t: t, hub: filepath.Join(dir, "hub.git")}
	work := filepath.Join(dir, "work")
	testGit(t, dir, "init", "-q", "--bare", p.hub)
	testGit(t, dir, "init", "-q", work)
	write(t, filepath.Join(work, WorkflowFile), "on: push\n")
	write(t, filepath.Join(work, "a.txt"), "a\n")
	testGit(t, work, "add", "-A")
	testGit(t, work, "commit", "-q", "-m", "first")
	testGit(t, work, "remote", "add", "origin", p.hub)
	testGit(t, work, "push", "-q", "origin", "main")
	var err error
	if p.Repository, err = OpenRepository(t.Context(), work, gitEnv()); err != nil {
		t.Fatal(err)
	}
	p.head = testGit(t, work, "rev-parse", "HEAD")
	return p
}

// ask pushes the usual request.
func (p *pair) ask() Asked {
	p.t.Helper()
	asked, err := p.Request(p.t.Context(), request(p.head), "", "origin")
	if err != nil {
		p.t.Fatal(err)
	}
	return asked
}

// state is everything about a checkout that a request must leave as it is.
func (p *pair) state() string {
	p.t.Helper()
	head := read(p.t, filepath.Join(p.dir, ".git/HEAD"))
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return head + testGit(p.t, p.dir, "status", "--porcelain", "--branch") +
		testGit(p.t, p.dir, "for-each-ref", "refs/heads") + strings.Join(names, " ") +
		read(p.t, filepath.Join(p.dir, "a.txt"))
}

func (p *pair) remoteBranches() string {
	return testGit(p.t, p.hub, "for-each-ref", "--format=%(refname:short)", "refs/heads")
}

func TestRequestAddsOneFileOnABranchOfItsOwn(t *testing.T) {
	for _, detached := range []bool{false, true} {
		p := newPair(t)
		if detached {
			testGit(t, p.dir, "checkout", "-q", "--detach")
		}
		before := p.state()
		asked, err := p.Request(t.Context(), request(p.head), "-b876", "origin")
		if err != nil {
			t.Fatal(err)
		}
		if p.state() != before {
			t.Errorf("detached %t: the checkout was\n%s\nand is\n%s", detached, before, p.state())
		}
		if asked.Branch != "tandem-bridge/probe-nonce-1-b876" ||
			p.remoteBranches() != "main\n"+asked.Branch {
			t.Errorf("asked %+v, the remote has %s", asked, p.remoteBranches())
		}
		if diff := testGit(t, p.hub, "diff", "--name-status", "main", asked.Branch); diff !=
			"A\t"+ManifestFile {
			t.Errorf("the branch differs by %q", diff)
		}
		if parent := testGit(t, p.hub, "rev-parse", asked.Branch+"^"); parent != p.head {
			t.Errorf("the request stands on %s", parent)
		}
		// The branch is there now; another request of the same nonce must not replace it.
		q := request(p.head)
		q.RequestedBy = "another"
		if _, err := p.Request(t.Context(), q, "-b876", "origin"); err == nil {
			t.Error("a second request of the same nonce is sent")
		}
	}
}

// Without a push the branch is made here, and the remote is not asked.
func TestRequestWithoutPush(t *testing.T) {
	p := newPair(t)
	testGit(t, p.dir, "remote", "set-url", "origin", "https://192.0.2.1/x.git")
	asked, err := p.Request(t.Context(), request(p.head), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := testGit(t, p.dir, "show", asked.Branch+":"+ManifestFile); !strings.Contains(got,
		`"ref": "`+p.head+`"`) {
		t.Errorf("the manifest is %s", got)
	}
	if head := testGit(t, p.dir, "symbolic-ref", "HEAD"); head != "refs/heads/main" {
		t.Errorf("the checkout is on %s", head)
	}
}

// A request on top of a branch of the bridge takes neither its manifest nor its results along.
func TestRequestLeavesOldResultsOut(t *testing.T) {
	p := newPair(t)
	write(t, filepath.Join(p.dir, ManifestFile), "old")
	write(t, filepath.Join(p.dir, resultsFolder, "old1", summaryFile), "old")
	testGit(t, p.dir, "add", "-A")
	testGit(t, p.dir, "commit", "-q", "-m", "results")
	asked, err := p.Request(t.Context(), request(testGit(t, p.dir, "rev-parse", "HEAD")), "", "origin")
	if err != nil {
		t.Fatal(err)
	}
	files := testGit(t, p.hub, "ls-tree", "-r", "--name-only", asked.Branch, Folder+"/")
	if files != ManifestFile {
		t.Errorf("the branch has %q", files)
	}
}

// What is not committed would not run, so the request is refused, and the files stay.
func TestDirtyTreeIsRefused(t *testing.T) {
	for name, change := range map[string]func(p *pair){
		"changed": func(p *pair) { write(t, filepath.Join(p.dir, "a.txt"), "b\n") },
		"staged": func(p *pair) {
			write(t, filepath.Join(p.dir, "a.txt"), "b\n")
			testGit(t, p.dir, "add", "a.txt")
		},
		"new": func(p *pair) { write(t, filepath.Join(p.dir, "new/a.txt"), "x") },
		"deleted": func(p *pair) {
			write(t, filepath.Join(p.dir, "a.txt"), "b\n")
			testGit(t, p.dir, "rm", "-qf", "a.txt")
			write(t, filepath.Join(p.dir, "a.txt"), "b\n")
		},
		"moved": func(p *pair) { testGit(t, p.dir, "mv", WorkflowFile, "moved.yml") },
	} {
		p := newPair(t)
		change(p)
		before := p.state()
		_, err := p.Request(t.Context(), request(p.head), "", "origin")
		if err == nil || !strings.HasPrefix(err.Error(), "the work tree has changes (") {
			t.Errorf("%s: %v", name, err)
		}
		if p.state() != before || p.remoteBranches() != "main" {
			t.Errorf("%s: the checkout is\n%s", name, p.state())
		}
	}
	p := newPair(t)
	write(t, filepath.Join(p.dir, "a\x1b[2Jb"), "x")
	if err := p.Clean(t.Context()); err == nil || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("a name with an escape: %q", err)
	}
}

// A remote that does not answer ends the request soon, with one sentence.
func TestOfflineFailsFast(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, url := range map[string]string{
		"nowhere": filepath.Join(t.TempDir(), "none.git"),
		"closed":  "git://127.0.0.1:1/x.git",
		"silent":  "git://" + silent.Addr().String() + "/x.git",
	} {
		p := newPair(t)
		p.reach = 500 * time.Millisecond
		testGit(t, p.dir, "remote", "set-url", "origin", url)
		before, began := p.state(), time.Now()
		_, err := p.Request(t.Context(), request(p.head), "", "origin")
		if _, ok := errors.AsType[*OfflineError](err); !ok || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), "the remote origin cannot be reached") {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if p.state() != before {
			t.Errorf("%s: the checkout is\n%s", name, p.state())
		}
	}
}

// The checkout stays as it is if the client is killed, at whatever moment.
func TestKilledRequestLeavesTheCheckout(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		for _, detached := range []bool{false, true} {
			p := newPair(t)
			if detached {
				testGit(t, p.dir, "checkout", "-q", "--detach")
			}
			reached := filepath.Join(t.TempDir(), "reached")
			// The push waits here, so the commit is written and not yet sent.
			writeScript(t, filepath.Join(p.dir, ".git/hooks/pre-push"), "touch "+reached+"; sleep 60\n")
			before := p.state()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(gitEnv(), "BRIDGE_TEST_REQUEST="+p.dir, "BRIDGE_TEST_REF="+p.head)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for range 3000 { // another process gets there
				if _, err := os.Stat(reached); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if _, err := os.Stat(reached); err != nil {
				t.Fatal("the push was not reached")
			}
			cmd.Process.Signal(signal)
			if err := cmd.Wait(); err == nil {
				t.Error("the client ended by itself")
			}
			if p.state() != before || p.remoteBranches() != "main" {
				t.Errorf("%v, detached %t: the checkout was\n%s\nand is\n%s", signal, detached, before,
					p.state())
			}
			endSleepers(t, p.dir)
		}
	}
}

// A client that is stopped in the middle of the push leaves the checkout too, and git ends.
func TestStoppedRequestLeavesTheCheckout(t *testing.T) {
	p := newPair(t)
	pid := filepath.Join(t.TempDir(), "pid")
	writeScript(t, filepath.Join(p.dir, ".git/hooks/pre-push"), "echo $$ > "+pid+"; sleep 60\n")
	before := p.state()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := p.Request(ctx, request(p.head), "", "origin")
		done <- err
	}()
	var hook int
	for range 3000 { // another process writes it
		if text, err := os.ReadFile(pid); err == nil && len(text) > 1 {
			fmt.Sscan(string(text), &hook)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
	if hook == 0 || !gone(hook) {
		t.Errorf("the hook %d of git lives on", hook)
	}
	if p.state() != before || p.remoteBranches() != "main" {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, p.state())
	}
}

// endSleepers ends what the killed client's git left waiting: processes in that folder.
func endSleepers(t *testing.T, dir string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			pid := 0
			for _, digit := range filepath.Base(filepath.Dir(link)) {
				pid = pid*10 + int(digit-'0')
			}
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A failure of any step leaves the checkout and the remote as they were.
func TestFailedRequestLeavesTheCheckout(t *testing.T) {
	for name, change := range map[string]func(p *pair) (Request, string, string){
		"push refused": func(p *pair) (Request, string, string) {
			writeScript(t, filepath.Join(p.hub, "hooks/pre-receive"), "echo no entry >&2; exit 1\n")
			return request(p.head), "", "origin"
		},
		"no such commit": func(p *pair) (Request, string, string) {
			return request(strings.Repeat("0a", 20)), "", "origin"
		},
		"suffix with a space": func(p *pair) (Request, string, string) {
			return request(p.head), "a b", "origin"
		},
		"suffix that climbs": func(p *pair) (Request, string, string) {
			return request(p.head), "../../main", "origin"
		},
		"no such remote": func(p *pair) (Request, string, string) {
			return request(p.head), "", "other"
		},
		"remote that starts a program": func(p *pair) (Request, string, string) {
			return request(p.head), "", "ext::sh -c touch% canary"
		},
		"remote that is a flag": func(p *pair) (Request, string, string) {
			return request(p.head), "", "--exec=x"
		},
		"full disk of objects": func(p *pair) (Request, string, string) {
			p.env = append(p.env, "GIT_OBJECT_DIRECTORY=/nowhere")
			return request(p.head), "", "origin"
		},
		"no name": func(p *pair) (Request, string, string) {
			p.env = append(p.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.useConfigOnly",
				"GIT_CONFIG_VALUE_0=true")
			return request(p.head), "", "origin"
		},
		"no workflow": func(p *pair) (Request, string, string) {
			testGit(t, p.dir, "rm", "-q", WorkflowFile)
			testGit(t, p.dir, "commit", "-q", "-m", "without")
			return request(testGit(t, p.dir, "rev-parse", "HEAD")), "", "origin"
		},
	} {
		p := newPair(t)
		q, suffix, remote := change(p)
		before := p.state()
		if asked, err := p.Request(t.Context(), q, suffix, remote); err == nil {
			t.Errorf("%s: asked %+v", name, asked)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q is no sentence", name, err)
		} else if name == "no workflow" && !strings.Contains(err.Error(), workflowHelp) {
			t.Errorf("%s: %v", name, err)
		}
		if p.state() != before || p.remoteBranches() != "main" {
			t.Errorf("%s: the checkout was\n%s\nand is\n%s", name, before, p.state())
		}
	}
}

// Pointers of Git LFS are found in any commit, and a request with them is refused.
func TestPointersAreFound(t *testing.T) {
	p := newPair(t)
	pointer := pointerHead + "oid sha256:" + strings.Repeat("0", 64) + "\nsize 12345\n"
	write(t, filepath.Join(p.dir, "models/w.safetensors"), pointer)
	write(t, filepath.Join(p.dir, "models/näme\nx.bin"), pointer)
	write(t, filepath.Join(p.dir, "about.md"), "It begins so:\n"+pointer)
	write(t, filepath.Join(p.dir, "long.txt"), pointer+strings.Repeat("x", maxPointer))
	write(t, filepath.Join(p.dir, "empty.txt"), "")
	testGit(t, p.dir, "add", "-A")
	testGit(t, p.dir, "commit", "-q", "-m", "weights")
	head := testGit(t, p.dir, "rev-parse", "HEAD")
	found, err := p.Pointers(t.Context(), head)
	slices.Sort(found)
	if err != nil || !slices.Equal(found, []string{"models/näme\nx.bin", "models/w.safetensors"}) {
		t.Errorf("found %q, %v", found, err)
	}
	if before, err := p.Pointers(t.Context(), p.head); err != nil || len(before) > 0 {
		t.Errorf("before: %q, %v", before, err)
	}
	_, err = p.Request(t.Context(), request(head), "", "origin")
	if err == nil || !strings.Contains(err.Error(), "pointers of Git LFS") {
		t.Errorf("a request with pointers: %v", err)
	}
}

// What a branch holds is not trusted.
func TestForeignResultsAreRefused(t *testing.T) {
	for name, change := range map[string]func(r *Repository){
		"nonce of another": func(r *Repository) {
			ended(t, r, "nonce-1", strings.Replace(endedSummary, "nonce-1", "nonce-2", 1))
		},
		"no JSON": func(r *Repository) { ended(t, r, "nonce-1", "nonsense") },
		"exit code that a process makes 0": func(r *Repository) {
			ended(t, r, "nonce-1", strings.Replace(endedSummary, `"exit_code": 0,
	"commands"`, `"exit_code": 256, "commands"`, 1))
		},
		"another schema": func(r *Repository) { ended(t, r, "nonce-1", `{"schema_version": 9}`) },
		"huge summary": func(r *Repository) {
			ended(t, r, "nonce-1", strings.Repeat(" ", maxSummary)+endedSummary)
		},
		"manifest of another": func(r *Repository) {
			q, _ := NewRequest("tests", nil, rightRef, "me", "nonce-9")
			write(t, filepath.Join(r.dir, ManifestFile), string(q.Manifest()))
		},
	} {
		p := newPair(t)
		asked := p.ask()
		mac := p.clone(asked.Branch)
		change(mac)
		testGit(t, mac.dir, "add", "-A")
		testGit(t, mac.dir, "commit", "-q", "-m", name)
		testGit(t, mac.dir, "push", "-q", "origin", "HEAD:"+asked.Branch)
		if res, err := p.Status(t.Context(), "origin", asked.Branch); err == nil {
			t.Errorf("%s: %+v", name, res)
		}
	}
	p := newPair(t)
	for _, branch := range []string{"main", "tandem-bridge/none-such", "--all", "tandem-bridge/a b"} {
		if _, err := p.Status(t.Context(), "origin", branch); err == nil {
			t.Errorf("there is a status of %q", branch)
		}
	}
}

// Waiting goes on while the remote is away, and ends in time.
func TestWaitEndsInTime(t *testing.T) {
	p := newPair(t)
	asked := p.ask()
	began := time.Now()
	res, err := p.Wait(t.Context(), "origin", asked.Branch, 200*time.Millisecond, 20*time.Millisecond)
	if err != nil || res.Summary != nil || time.Since(began) > 20*time.Second {
		t.Errorf("%+v, %v after %v", res, err, time.Since(began))
	}
	if err := os.Rename(p.hub, p.hub+".away"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		res, err := p.Wait(t.Context(), "origin", asked.Branch, time.Minute, 20*time.Millisecond)
		if err == nil && res.Summary == nil {
			err = errors.New("no summary")
		}
		done <- err
	}()
	time.Sleep(200 * time.Millisecond) // git fails some times meanwhile
	if err := os.Rename(p.hub+".away", p.hub); err != nil {
		t.Fatal(err)
	}
	mac := p.clone(asked.Branch)
	ended(t, mac, "nonce-1", endedSummary)
	if err := p.publish(mac, asked.Commit, asked.Branch); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
