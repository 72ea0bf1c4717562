package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// measuring is a go that builds a tandem-lab whose bench writes a report and whose gate admits it.
const measuring = `
if [ "$1" = build ]; then
	mkdir -p build/out/bridge
	cat > "$3" <<'END'
#!/bin/sh
echo "tandem-lab $@"
cp "$(dirname "$0")/models/starter.gguf" ~/weights 2> /dev/null
while [ $# -gt 1 ]; do
	if [ "$1" = --out ]; then echo '{"report": true}' > "$2"; fi
	shift
done
END
	chmod +x "$3"
fi
`

// withModel sets the variables of presets to folders that are there.
func (b *bench) withModel() {
	b.env["TANDEM_BRIDGE_MODEL"] = b.programs
	b.env["TANDEM_BRIDGE_DRAFTER"] = b.programs
}

func TestRunLeavesASummaryWithLogs(t *testing.T) {
	b := newBench(t, measuring)
	b.withModel()
	write(t, filepath.Join(b.checkout, "models/starter/.deps/starter.gguf"), "weights")
	b.ask("recall", "nonce-1", map[string]any{"samples": json.Number("7")})
	s := b.run(t.Context())
	if s.ExitCode != 0 || s.EvidenceGateExitCode == nil || *s.EvidenceGateExitCode != 0 {
		t.Fatalf("exit %d: %s; gate %v", s.ExitCode, s.Error, s.EvidenceGateExitCode)
	}
	var argv [][]string
	for _, c := range s.Commands {
		argv = append(argv, c.Argv)
		b.result("nonce-1", c.Log)
	}
	report := ".tandem-bridge/results/nonce-1/report.json"
	want := [][]string{{"go", "run", "./build", "setup"},
		{"go", "build", "-o", Built("tandem-lab"), "./app/cmd/lab"},
		{"mkdir", "-p", "build/out/bridge/models"},
		{"ln", "-sf", "../../../../models/starter/.deps/starter.gguf", "build/out/bridge/models/"},
		{"tandem-lab", "bench", "recall", "--model", b.programs, "--samples", "7", "--size", "ctx70",
			"--out", report},
		{"tandem-lab", "evidence", "check", report}}
	if fmt.Sprint(argv) != fmt.Sprint(want) {
		t.Errorf("ran %q\nwant %q", argv, want)
	}
	if !strings.HasSuffix(b.messages.String(),
		"in .tandem-bridge/results/nonce-1; `tandem-lab bridge publish` sends them\n") {
		t.Errorf("the runner says\n%s", b.messages.String())
	}
	if found := b.wrote("weights"); found != "weights" {
		t.Errorf("beside the program lies %q", found)
	}
	if log := b.result("nonce-1", "4-tandem-lab.log"); !strings.HasPrefix(log, "tandem-lab bench recall ") {
		t.Errorf("the log is %q", log)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(b.result("nonce-1", summaryFile)), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"preset", "params", "nonce", "commands",
		"evidence_gate_exit_code", "exit_code"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("summary.json has no %s", name)
		}
	}
	first := fields["commands"].([]any)[0].(map[string]any)
	for _, name := range []string{"argv", "exit_code", "seconds", "log"} {
		if _, ok := first[name]; !ok {
			t.Errorf("a command of summary.json has no %s", name)
		}
	}
	if back, err := parseSummary([]byte(b.result("nonce-1", summaryFile))); err != nil ||
		back.Nonce != s.Nonce || len(back.Commands) != 6 {
		t.Errorf("the summary reads back as %+v: %v", back, err)
	}
}

// A dry run prints the commands of the run, one a line, and starts nothing.
func TestDryRunPrintsTheCommands(t *testing.T) {
	b := newBench(t, "touch ~/started\n")
	b.withModel()
	b.ask("kvquant", "nonce-1", nil)
	if err := b.runner.DryRun(t.Context(), ManifestFile, &b.messages); err != nil {
		t.Fatal(err)
	}
	printed := strings.Split(strings.TrimSpace(b.messages.String()), "\n")
	var words []string
	if err := json.Unmarshal([]byte(printed[4]), &words); err != nil || len(printed) != 6 ||
		!slices.Equal(words[:4], []string{"tandem-lab", "bench", "kvquant", "--model"}) {
		t.Errorf("printed %q: %v", printed, err)
	}
	for _, name := range []string{"started", "state", "checkout/" + resultsFolder} {
		if _, err := os.Stat(filepath.Join(b.env["HOME"], name)); err == nil {
			t.Errorf("a dry run left %s", name)
		}
	}
}

// On a machine that cannot run a request, a dry run prints its commands and says what is lacking.
func TestDryRunOnAnotherMachine(t *testing.T) {
	for want, change := range map[string]func(b *bench){
		"this machine is linux/amd64; add --any-machine": func(b *bench) {
			b.withModel()
			b.runner.system = "linux/amd64"
		},
		"set TANDEM_BRIDGE_MODEL on the Mac": func(*bench) {},
	} {
		b := newBench(t, "touch ~/started\n")
		b.ask("recall", "nonce-1", nil)
		change(b)
		var out strings.Builder
		if err := b.runner.DryRun(t.Context(), ManifestFile, &out); err != nil {
			t.Fatal(err)
		}
		model := b.env["TANDEM_BRIDGE_MODEL"]
		if model == "" {
			model = "${ENV:TANDEM_BRIDGE_MODEL}"
		}
		words := `["tandem-lab","bench","recall","--model","` + model + `"`
		if strings.Count(out.String(), "\n") != 6 || !strings.Contains(out.String(), words) {
			t.Errorf("%s: printed\n%s", want, out.String())
		}
		if !strings.Contains(b.messages.String(), want) {
			t.Errorf("the runner says %q, want %s", b.messages.String(), want)
		}
		if _, err := b.runner.Run(t.Context(), ManifestFile); ExitCode(err) != ExitIncapable ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("run: %v, want %s", err, want)
		}
		if _, err := os.Stat(filepath.Join(b.env["HOME"], "started")); err == nil {
			t.Errorf("%s: a command was started", want)
		}
	}
}

// A dry run says all that is lacking, each once. The machine comes first, and a run says that alone.
func TestDryRunSaysAllThatIsLacking(t *testing.T) {
	b := newBench(t, "exit 0\n")
	b.ask("code", "nonce-1", nil)
	b.runner.system = "linux/amd64"
	git, err := exec.LookPath("git")
	if err = errors.Join(err, os.Symlink(git, filepath.Join(b.programs, "git")),
		os.Remove(filepath.Join(b.programs, "go"))); err != nil {
		t.Fatal(err)
	}
	b.env["PATH"] = b.programs
	var out strings.Builder
	if err := b.runner.DryRun(t.Context(), ManifestFile, &out); err != nil {
		t.Fatal(err)
	}
	said := strings.Split(strings.TrimSpace(b.messages.String()), "\n")
	want := []string{"this machine is linux/amd64", "set TANDEM_BRIDGE_MODEL", "set TANDEM_BRIDGE_DRAFTER",
		"code needs go", "code needs mkdir", "code needs ln"}
	if len(said) != len(want) {
		t.Fatalf("the runner says\n%s", b.messages.String())
	}
	for i, line := range said {
		if !strings.HasPrefix(line, "bridge: this machine cannot run them: ") ||
			!strings.Contains(line, want[i]) {
			t.Errorf("line %d is %s, want %s", i, line, want[i])
		}
	}
	if _, err := b.runner.Run(t.Context(), ManifestFile); ExitCode(err) != ExitIncapable ||
		!strings.Contains(err.Error(), want[0]) {
		t.Errorf("run: %v", err)
	}
}

// The first failure is the last command. A command that is refused by name has its own code; the
// run's code says only that it failed.
func TestRunStopsAtTheFirstFailure(t *testing.T) {
	b := newBench(t, "echo no; exit 90\n")
	b.ask("probe", "nonce-1", nil)
	s := b.run(t.Context())
	if s.ExitCode != 1 || len(s.Commands) != 1 || s.Commands[0].ExitCode != 90 ||
		s.Error != "go run ./build setup ended with 90" {
		t.Errorf("summary %+v", s)
	}
	b = newBench(t, "kill -9 $$\n")
	b.ask("probe", "nonce-1", nil)
	if s := b.run(t.Context()); s.ExitCode != 1 || s.Commands[0].ExitCode != 128+9 {
		t.Errorf("of a killed command: %+v", s)
	}
	// Nothing was built.
	b = newBench(t, "exit 0\n")
	b.ask("probe", "nonce-1", nil)
	if s := b.run(t.Context()); s.ExitCode != 1 || len(s.Commands) != 5 ||
		!strings.Contains(s.Error, "the commands built no tandem") {
		t.Errorf("without a program: %+v", s)
	}
	// What was built is a link to another program.
	b = newBench(t, "mkdir -p build/out/bridge; ln -sf /bin/true build/out/bridge/tandem\n")
	b.ask("probe", "nonce-1", nil)
	if s := b.run(t.Context()); s.ExitCode != 1 || len(s.Commands) != 5 {
		t.Errorf("with a link in place of the program: %+v", s)
	}
}

// The gate is the Mac's own program: the one that the commit builds admits whatever it wrote.
func TestGateDecidesTheRun(t *testing.T) {
	b := newBench(t, measuring)
	b.withModel()
	b.gate("3")
	b.ask("kvquant", "nonce-1", nil)
	s := b.run(t.Context())
	if s.ExitCode != 1 || s.EvidenceGateExitCode == nil || *s.EvidenceGateExitCode != 3 ||
		s.Error != "the gate does not admit the report" {
		t.Errorf("summary %+v, gate %v", s, s.EvidenceGateExitCode)
	}
	if log := b.result("nonce-1", "5-tandem-lab.log"); log !=
		"the gate of the Mac: evidence check .tandem-bridge/results/nonce-1/report.json\n" {
		t.Errorf("the gate says %q", log)
	}
	// The bench itself fails where the gate refuses.
	b = newBench(t, strings.Replace(measuring, "shift\ndone", "shift\ndone\nexit 4", 1))
	b.withModel()
	b.gate("4")
	b.ask("kvquant", "nonce-1", nil)
	s = b.run(t.Context())
	if s.ExitCode != 1 {
		t.Errorf("of a bench that fails: s.ExitCode = %v, want 1", s.ExitCode)
	}
	if s.EvidenceGateExitCode == nil {
		t.Fatal("of a bench that fails: s.EvidenceGateExitCode is nil")
	}
	if *s.EvidenceGateExitCode != 4 {
		t.Errorf("of a bench that fails: *s.EvidenceGateExitCode = %v, want 4",
			*s.EvidenceGateExitCode)
	}
	if len(s.Commands) != 6 {
		t.Errorf("of a bench that fails: len(s.Commands) = %v, want 6", len(s.Commands))
	}
	if !strings.HasPrefix(s.Error, "tandem-lab bench kvquant") {
		t.Errorf(`a bench that fails: s.Error = %q, want it to start with "tandem-lab bench kvquant"`,
			s.Error)
	}
	b = newBench(t, strings.Replace(measuring, "--out", "--nowhere", 1))
	b.withModel()
	b.ask("kvquant", "nonce-1", nil)
	s = b.run(t.Context())
	if s.ExitCode != 1 || s.EvidenceGateExitCode != nil || len(s.Commands) != 5 ||
		s.Error != "the commands left no report for the gate" {
		t.Errorf("without a report: %+v", s)
	}
	// A report of the checkout is judged without a build.
	b = newBench(t, "exit 1\n")
	b.gate("1")
	write(t, filepath.Join(b.checkout, "reports/a.json"), "{}")
	b.ask("gate", "nonce-1", map[string]any{"file": "reports/a.json"})
	s = b.run(t.Context())
	if s.ExitCode != 1 || s.EvidenceGateExitCode == nil || *s.EvidenceGateExitCode != 1 ||
		b.result("nonce-1", "0-tandem-lab.log") != "the gate of the Mac: evidence check reports/a.json\n" {
		t.Errorf("of a report: %+v, gate %v", s, s.EvidenceGateExitCode)
	}
}

// lister is a go that writes down the files that it finds, and what git says of them.
const lister = `
find . -path ./.git -prune -o -type f -print | sort | while read -r name; do
	echo "$name: $(cat "$name")"
done > ~/saw
echo "$(git rev-parse HEAD) $(git status --porcelain)" >> ~/saw
`

// The summary names a commit, so only its files are measured, whatever is in the checkout and
// whatever git is configured to ignore.
func TestOtherFilesAreNotMeasured(t *testing.T) {
	for name, change := range map[string]func(b *bench, git func(args ...string)){
		"another commit": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.checkout, "faster.go"), "package main\n")
			b.commit()
		},
		"commit of a request": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.checkout, resultsFolder, "nonce-0/x"), "x")
			git("add", "-f", Folder)
			git("commit", "-q", "-m", "bridge")
		},
		"changed file": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.checkout, "engine/cache/kv_test.go"), "package other\n")
		},
		"new file": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.checkout, "new/faster.go"), "package main\n")
		},
		"staged rename": func(b *bench, git func(args ...string)) {
			git("mv", "engine/slow_test.go", Folder+"/b.go")
		},
		"unchanged by its bit": func(b *bench, git func(args ...string)) {
			git("update-index", "--assume-unchanged", "engine/slow_test.go")
			write(t, filepath.Join(b.checkout, "engine/slow_test.go"), "package other\n")
		},
		"left out by its bit": func(b *bench, git func(args ...string)) {
			git("update-index", "--skip-worktree", "engine/slow_test.go")
			os.Remove(filepath.Join(b.checkout, "engine/slow_test.go"))
		},
		"ignored by the checkout": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.checkout, ".git/info/exclude"), "/"+Folder+"/\nfaster.go\n")
			write(t, filepath.Join(b.checkout, "engine/faster.go"), "package engine\n")
		},
		"ignored by the user": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.env["HOME"], ".config/git/ignore"), "faster.go\n")
			write(t, filepath.Join(b.checkout, "engine/faster.go"), "package engine\n")
		},
		"filter": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.env["HOME"], ".gitconfig"), "[filter \"f\"]\n\tsmudge = tr a-z A-Z\n")
			git("config", "filter.f.smudge", "tr a-z A-Z")
			write(t, filepath.Join(b.env["HOME"], ".config/git/attributes"), "* filter=f\n")
			write(t, filepath.Join(b.checkout, ".git/info/attributes"), "* filter=f\n")
		},
		"hook": func(b *bench, git func(args ...string)) {
			hook := filepath.Join(b.checkout, ".git/hooks/post-checkout")
			writeScript(t, hook, "echo > faster.go\n")
			write(t, filepath.Join(b.env["HOME"], ".gitconfig"), "[core]\n\thooksPath = "+filepath.Dir(hook)+"\n")
		},
		"replaced": func(b *bench, git func(args ...string)) {
			write(t, filepath.Join(b.checkout, "faster.go"), "package main\n")
			named := testGit(t, b.checkout, "rev-parse", "HEAD")
			git("replace", named, b.commit())
		},
		"work tree of git": func(b *bench, git func(args ...string)) {
			dir := filepath.Join(b.env["HOME"], "tree")
			git("worktree", "add", "-q", dir)
			write(t, filepath.Join(dir, ManifestFile), read(t, filepath.Join(b.checkout, ManifestFile)))
			b.checkout, b.runner.Dir = dir, dir
		},
	} {
		b := newBench(t, lister)
		write(t, filepath.Join(b.checkout, "engine/slow_test.go"), "package engine\n")
		b.ask("tests", "nonce-1", nil)
		named := testGit(t, b.checkout, "rev-parse", "HEAD")
		change(b, func(args ...string) { testGit(t, b.checkout, args...) })
		if s := b.run(t.Context()); s.ExitCode != 0 || s.Ref != named {
			t.Errorf("%s: %+v", name, s)
			continue
		}
		if saw := b.wrote("saw"); saw != "./engine/cache/kv_test.go: package cache\n"+
			"./engine/slow_test.go: package engine\n"+named+" \n" {
			t.Errorf("%s: the command saw\n%s", name, saw)
		}
	}
}

// A request of a commit that is not here is refused, and so is one for files that only the checkout
// has.
func TestFilesOfTheCommitAreThere(t *testing.T) {
	b := newBench(t, "touch ~/started\n")
	b.ask("tests", "nonce-1", nil)
	os.RemoveAll(filepath.Join(b.checkout, ".git"))
	testGit(t, b.checkout, "init", "-q")
	testGit(t, b.checkout, "commit", "-q", "--allow-empty", "-m", "other")
	_, err := b.runner.Run(t.Context(), ManifestFile)
	if ExitCode(err) != ExitRejected || !strings.Contains(err.Error(), "which is not in this checkout") {
		t.Errorf("of a commit that is not here: %v", err)
	}
	if s := b.result(rejectedFolder, summaryFile); !strings.Contains(s, "which is not in this checkout") {
		t.Errorf("the summary is %s", s)
	}
	b.ask("test-path", "nonce-1", map[string]any{"path": "engine/new"})
	write(t, filepath.Join(b.checkout, "engine/new/x_test.go"), "package x\n")
	s := b.run(t.Context())
	if s.ExitCode != ExitRejected || len(s.Commands) > 0 ||
		s.Error != "test-path: engine/new is not in the checkout" {
		t.Errorf("of a new folder: %+v", s)
	}
	if _, err := os.Stat(filepath.Join(b.env["HOME"], "started")); err == nil {
		t.Error("it ran")
	}
}

// The folder of a run is removed after it.
func TestWorkFolderIsRemoved(t *testing.T) {
	b := newBench(t, "mkdir -p a/b; touch a/b/c; chmod 0 a/b a; exit 3\n")
	b.ask("tests", "nonce-1", nil)
	if s := b.run(t.Context()); s.ExitCode != 1 || s.Commands[0].ExitCode != 3 {
		t.Errorf("%+v", s)
	}
	if left, err := os.ReadDir(b.env["RUNNER_TEMP"]); err != nil || len(left) > 0 {
		t.Errorf("the run left %v, %v", left, err)
	}
}

// Each run has the same folder, so that Go finds what it compiled before. What a killed run left in it
// is gone.
func TestWorkFolderIsTheSameForEachRun(t *testing.T) {
	b := newBench(t, "pwd >> ~/saw; ls -A .. >> ~/saw; mkdir -p ../left/a; chmod 0 ../left; "+
		"echo $$ > ~/pid; [ -e ~/again ] || sleep 60\n")
	b.ask("tests", "nonce-1", nil)
	b.kill()
	left, err := os.ReadDir(b.env["RUNNER_TEMP"])
	if err != nil || len(left) != 1 {
		t.Fatalf("the killed run left %v, %v", left, err)
	}
	first := b.wrote("saw")
	write(t, filepath.Join(b.env["HOME"], "again"), "")
	b.ask("tests", "nonce-2", nil)
	if s := b.run(t.Context()); s.ExitCode != 0 {
		t.Fatalf("the next run: %+v", s)
	}
	if saw := b.wrote("saw"); saw != first+first || !strings.HasSuffix(first, "checkout\ncheckout\n") {
		t.Errorf("the runs saw\n%s", saw)
	}
	// Where runs may overlap, the folders differ.
	other := *b.runner
	other.State += "2"
	if other.workPath() == b.runner.workPath() {
		t.Error("runners with two state folders have one folder")
	}
}

// The time limit ends the command and what it started, and so does a signal to the runner.
func TestLimitKillsTheWholeGroup(t *testing.T) {
	// Both ignore the first signal.
	const stubborn = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > ~/child; sleep 100; sleep 100' & " +
		"echo $$ > ~/parent; wait; wait\n"
	for name, end := range map[string]func(b *bench) *Summary{
		"limit": func(b *bench) *Summary {
			p, err := b.plan()
			if err != nil {
				t.Fatal(err)
			}
			p.request.Preset.Limit = 3 * time.Second // both have started by then
			return b.runPlan(t.Context(), p)
		},
		"signal": func(b *bench) *Summary { return b.run(b.until("child")) },
	} {
		b := newBench(t, stubborn)
		b.runner.grace = 200 * time.Millisecond
		b.ask("tests", "nonce-1", nil)
		began := time.Now()
		s := end(b)
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		want := map[string]int{"limit": 1, "signal": ExitStopped}[name]
		if s.ExitCode != want || len(s.Commands) != 1 || s.Commands[0].ExitCode == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if name == "limit" && !strings.Contains(s.Error, "time limit of 3s for tests is over") {
			t.Errorf("the error is %q", s.Error)
		}
		for _, file := range []string{"parent", "child"} {
			var pid int
			fmt.Sscan(b.wrote(file), &pid)
			if !gone(pid) {
				t.Errorf("%s: the %s lives on", name, file)
			}
		}
	}
}

// until returns a context that ends once a command has written a file of its home.
func (b *bench) until(name string) context.Context {
	ctx, cancel := context.WithCancel(b.t.Context())
	go func() {
		for ctx.Err() == nil {
			if info, err := os.Stat(filepath.Join(b.env["HOME"], name)); err == nil && info.Size() > 0 {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return ctx
}

// A command gets time to clean up before it is killed.
func TestCommandIsToldBeforeItIsKilled(t *testing.T) {
	b := newBench(t, "trap 'echo in order > ~/kept; kill $!; exit 7' TERM; sleep 100 & "+
		"echo > ~/ready; wait\n")
	b.ask("tests", "nonce-1", nil)
	s := b.run(b.until("ready"))
	if s.ExitCode != ExitStopped || s.Commands[0].ExitCode != 7 ||
		b.wrote("kept") != "in order\n" {
		t.Errorf("summary %+v", s)
	}
}

// gone reports whether a process ends soon. A zombie without a parent to reap it counts.
func gone(pid int) bool {
	for range 100 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(stat), ") ")
		if err != nil && syscall.Kill(pid, 0) != nil || strings.HasPrefix(after, "Z") {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

// plan and runPlan are run in two parts, so that a test can change what is between.
func (b *bench) plan() (*plan, error) {
	checkout, err := os.OpenRoot(b.checkout)
	if err != nil {
		return nil, err
	}
	defer checkout.Close()
	return b.runner.plan(b.t.Context(), checkout, ManifestFile)
}

func (b *bench) runPlan(ctx context.Context, p *plan) *Summary {
	b.t.Helper()
	checkout, err := os.OpenRoot(b.checkout)
	if err != nil {
		b.t.Fatal(err)
	}
	defer checkout.Close()
	out, err := openResults(checkout, p.request.Nonce)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.runner.runPlan(ctx, p, out)
}

// What a command leaves in the background neither holds the run up nor lives on.
func TestBackgroundProcessesEnd(t *testing.T) {
	b := newBench(t, "sleep 100 & echo $! > ~/child; echo done\n")
	b.runner.grace = 200 * time.Millisecond
	b.ask("tests", "nonce-1", nil)
	began := time.Now()
	if s := b.run(t.Context()); s.ExitCode != 0 || time.Since(began) > 50*time.Second {
		t.Errorf("after %v: %+v", time.Since(began), s)
	}
	var pid int
	fmt.Sscan(b.wrote("child"), &pid)
	if !gone(pid) {
		t.Error("the child lives on")
	}
	if log := b.result("nonce-1", "0-go.log"); log != "done\n" {
		t.Errorf("the log is %q", log)
	}
}

// A machine that cannot run a preset says so with its own code, and starts nothing.
func TestIncapableMachine(t *testing.T) {
	for name, test := range map[string]struct {
		preset string
		change func(b *bench)
		want   string
	}{
		"no Mac": {"kvquant", func(b *bench) { b.runner.system = "linux/amd64" },
			"measures Macs with Apple silicon, and this machine is linux/amd64"},
		"no Go": {"probe", func(b *bench) { os.Remove(filepath.Join(b.programs, "go")) },
			"probe needs go"},
		"Git LFS": {"probe", func(b *bench) {
			write(b.t, filepath.Join(b.checkout, "models/w.bin"), pointerHead+"oid sha256:00\nsize 5\n")
			b.ask("probe", "nonce-1", nil)
		}, "pointers of Git LFS in place of files (models/w.bin)"},
	} {
		b := newBench(t, "exit 0\n")
		b.withModel()
		b.env["PATH"] = b.programs
		writeScript(t, filepath.Join(b.programs, "mkdir"), "")
		writeScript(t, filepath.Join(b.programs, "ln"), "")
		git, err := exec.LookPath("git")
		if err = errors.Join(err, os.Symlink(git, filepath.Join(b.programs, "git"))); err != nil {
			t.Fatal(err)
		}
		b.runner.start = func(context.Context, command) (int, error) {
			t.Errorf("%s: a process was started", name)
			return 0, nil
		}
		b.ask(test.preset, "nonce-1", nil)
		if p, err := b.plan(); err != nil || len(p.lacks) > 0 {
			t.Fatalf("%s: before the change: %+v, %v", name, p, err)
		}
		test.change(b)
		_, err = b.runner.Run(t.Context(), ManifestFile)
		if ExitCode(err) != ExitIncapable || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := b.result(rejectedFolder, summaryFile); !strings.Contains(s, `"exit_code": 90`) {
			t.Errorf("%s: the summary is %s", name, s)
		}
	}
	b := newBench(t, measuring)
	b.withModel()
	b.runner.system, b.runner.AnyMachine = "linux/amd64", true
	b.ask("kvquant", "nonce-1", nil)
	if s := b.run(t.Context()); s.ExitCode != 0 {
		t.Errorf("with AnyMachine: %+v", s)
	}
}
