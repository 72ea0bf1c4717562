package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// measuring is a go that builds a tandem whose bench writes a report and whose gate ends with the
// code in the file gate of the checkout.
const measuring = `
if [ "$1" = build ]; then
	mkdir -p build/out/bridge
	cat > "$3" <<'END'
#!/bin/sh
echo "tandem $@"
if [ "$1" = evidence ] && [ -f gate ]; then exit $(cat gate); fi
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
		{"go", "build", "-o", Built, "./app/cmd/tandem"},
		{"mkdir", "-p", "build/out/bridge/models"},
		{"ln", "-sf", "../../../../models/starter/.deps/starter.gguf", "build/out/bridge/models/"},
		{"tandem", "bench", "recall", "--model", b.programs, "--samples", "7", "--size", "ctx70",
			"--out", report},
		{"tandem", "evidence", "check", report}}
	if fmt.Sprint(argv) != fmt.Sprint(want) {
		t.Errorf("ran %q\nwant %q", argv, want)
	}
	if found := read(t, filepath.Join(b.checkout, filepath.Dir(Built), "models/starter.gguf")); found != "weights" {
		t.Errorf("beside the program lies %q", found)
	}
	if log := b.result("nonce-1", "4-tandem.log"); !strings.HasPrefix(log, "tandem bench recall ") {
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
	b := newBench(t, "touch started\n")
	b.withModel()
	b.ask("kvquant", "nonce-1", nil)
	if err := b.runner.DryRun(ManifestFile, &b.messages); err != nil {
		t.Fatal(err)
	}
	printed := strings.Split(strings.TrimSpace(b.messages.String()), "\n")
	var words []string
	if err := json.Unmarshal([]byte(printed[4]), &words); err != nil || len(printed) != 6 ||
		!slices.Equal(words[:4], []string{"tandem", "bench", "kvquant", "--model"}) {
		t.Errorf("printed %q: %v", printed, err)
	}
	for _, name := range []string{"started", resultsFolder} {
		if _, err := os.Stat(filepath.Join(b.checkout, name)); err == nil {
			t.Errorf("a dry run left %s", name)
		}
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

func TestGateDecidesTheRun(t *testing.T) {
	b := newBench(t, measuring)
	b.withModel()
	write(t, filepath.Join(b.checkout, "gate"), "3")
	b.ask("kvquant", "nonce-1", nil)
	s := b.run(t.Context())
	if s.ExitCode != 1 || s.EvidenceGateExitCode == nil || *s.EvidenceGateExitCode != 3 ||
		s.Error != "the gate does not admit the report" {
		t.Errorf("summary %+v, gate %v", s, s.EvidenceGateExitCode)
	}
	// The bench itself fails where the gate refuses.
	b = newBench(t, strings.Replace(measuring, "shift\ndone", "shift\ndone\nexit $(cat gate)", 1))
	b.withModel()
	write(t, filepath.Join(b.checkout, "gate"), "4")
	b.ask("kvquant", "nonce-1", nil)
	s = b.run(t.Context())
	if s.ExitCode != 1 || s.EvidenceGateExitCode == nil || *s.EvidenceGateExitCode != 4 ||
		len(s.Commands) != 6 || !strings.HasPrefix(s.Error, "tandem bench kvquant") {
		t.Errorf("of a bench that fails: %+v, gate %v", s, s.EvidenceGateExitCode)
	}
	b = newBench(t, strings.Replace(measuring, "--out", "--nowhere", 1))
	b.withModel()
	b.ask("kvquant", "nonce-1", nil)
	s = b.run(t.Context())
	if s.ExitCode != 1 || s.EvidenceGateExitCode != nil || len(s.Commands) != 5 ||
		s.Error != "the commands left no report for the gate" {
		t.Errorf("without a report: %+v", s)
	}
}

// The time limit ends the command and what it started, and so does a signal to the runner.
func TestLimitKillsTheWholeGroup(t *testing.T) {
	// Both ignore the first signal.
	const stubborn = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; sleep 100; sleep 100' & " +
		"echo $$ > parent; wait; wait\n"
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
			fmt.Sscan(read(t, filepath.Join(b.checkout, file)), &pid)
			if !gone(pid) {
				t.Errorf("%s: the %s lives on", name, file)
			}
		}
	}
}

// until returns a context that ends once a command has written a file of the checkout.
func (b *bench) until(name string) context.Context {
	ctx, cancel := context.WithCancel(b.t.Context())
	go func() {
		for ctx.Err() == nil {
			if info, err := os.Stat(filepath.Join(b.checkout, name)); err == nil && info.Size() > 0 {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return ctx
}

// A command that is told to end may put its things in order.
func TestCommandIsToldBeforeItIsKilled(t *testing.T) {
	b := newBench(t, "trap 'echo in order > kept; kill $!; exit 7' TERM; sleep 100 & "+
		"echo > ready; wait\n")
	b.ask("tests", "nonce-1", nil)
	s := b.run(b.until("ready"))
	if s.ExitCode != ExitStopped || s.Commands[0].ExitCode != 7 ||
		read(t, filepath.Join(b.checkout, "kept")) != "in order\n" {
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

// plan and runPlan are run in two parts, so that a test can change what lies between.
func (b *bench) plan() (*plan, error) {
	checkout, err := os.OpenRoot(b.checkout)
	if err != nil {
		return nil, err
	}
	defer checkout.Close()
	return b.runner.plan(checkout, ManifestFile)
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
	b := newBench(t, "sleep 100 & echo $! > child; echo done\n")
	b.runner.grace = 200 * time.Millisecond
	b.ask("tests", "nonce-1", nil)
	began := time.Now()
	if s := b.run(t.Context()); s.ExitCode != 0 || time.Since(began) > 50*time.Second {
		t.Errorf("after %v: %+v", time.Since(began), s)
	}
	var pid int
	fmt.Sscan(read(t, filepath.Join(b.checkout, "child")), &pid)
	if !gone(pid) {
		t.Error("the child lives on")
	}
	if log := b.result("nonce-1", "0-go.log"); log != "done\n" {
		t.Errorf("the log is %q", log)
	}
}

// Tokens and passwords of the runner reach neither commands nor logs.
func TestCommandsGetNoSecrets(t *testing.T) {
	b := newBench(t, "env; cat; exit 1\n")
	secret := "s3cr3t"
	for _, name := range []string{"GITHUB_TOKEN", "PUSH_TOKEN", "HF_TOKEN", "ACTIONS_RUNTIME_TOKEN",
		"TANDEM_BRIDGE_RUNNER_TOKEN", "TANDEM_API_KEY", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD",
		"GIT_CONFIG_VALUE_1"} {
		b.env[name] = secret
	}
	b.env["HTTPS_PROXY"] = "http://me:" + secret + "@proxy:80"
	b.env["GOCACHE"] = "/cache"
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	log := b.result("nonce-1", "0-go.log")
	if strings.Contains(log, secret) || !strings.Contains(log, "GOCACHE=/cache") ||
		!strings.Contains(log, "PATH=") {
		t.Errorf("the command got\n%s", log)
	}
	if strings.Contains(b.result("nonce-1", summaryFile)+b.messages.String(), secret) {
		t.Error("the summary or the messages show a secret")
	}
}

// A variable of a preset must be there and lead to something, or nothing starts. Variables that are
// not in the table cannot be read at all.
func TestVariablesAreChecked(t *testing.T) {
	for value, want := range map[string]string{
		"":                        "set TANDEM_BRIDGE_MODEL on the Mac to the folder of the model",
		"models/x":                "must be an absolute path",
		"-x":                      "must be an absolute path",
		"/nowhere/at/all":         "leads to nothing",
		"/tmp\n/x":                "is no path",
		strings.Repeat("/a", 4e3): "is no path",
	} {
		b := newBench(t, "exit 0\n")
		b.runner.start = func(context.Context, command) (int, error) {
			t.Errorf("%.20q: a process was started", value)
			return 0, nil
		}
		b.withModel()
		b.env["TANDEM_BRIDGE_MODEL"] = value
		b.ask("recall", "nonce-1", nil)
		_, err := b.runner.Run(t.Context(), ManifestFile)
		if ExitCode(err) != ExitRejected || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", value, err, want)
		}
		// The client hears why.
		if s := b.result(rejectedFolder, summaryFile); !strings.Contains(s, "TANDEM_BRIDGE_MODEL") {
			t.Errorf("%.20q: the summary is %s", value, s)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN", "HOME", "PATH", "TANDEM_BRIDGE_RUNNER_TOKEN", ""} {
		if v, err := variable(name, func(string) string { return "/tmp" }); err == nil || v != "" {
			t.Errorf("a preset could read %s", name)
		}
	}
}

// A machine that cannot run a preset says so with a code of its own, and starts nothing.
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
		}, "pointers of Git LFS in place of files (models/w.bin)"},
	} {
		b := newBench(t, "exit 0\n")
		b.withModel()
		b.env["PATH"] = b.programs
		writeScript(t, filepath.Join(b.programs, "mkdir"), "")
		writeScript(t, filepath.Join(b.programs, "ln"), "")
		b.runner.start = func(context.Context, command) (int, error) {
			t.Errorf("%s: a process was started", name)
			return 0, nil
		}
		b.ask(test.preset, "nonce-1", nil)
		if _, err := b.plan(); err != nil {
			t.Fatalf("%s: before the change: %v", name, err)
		}
		test.change(b)
		_, err := b.runner.Run(t.Context(), ManifestFile)
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

// said hands over what a runner says.
type said chan string

func (s said) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

// Runs on one machine wait for each other, in whatever checkout.
func TestRunsDoNotOverlap(t *testing.T) {
	a := newBench(t, "")
	record := filepath.Join(t.TempDir(), "record")
	script := "echo begin >> " + record + "; sleep 0.3; echo end >> " + record + "\n"
	writeScript(t, filepath.Join(a.programs, "go"), script)
	b := newBench(t, script)
	b.runner.State = a.runner.State
	a.ask("tests", "nonce-a", nil)
	b.ask("tests", "nonce-b", nil)
	turn, err := takeTurn(t.Context(), a.runner.State, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := make(said, 100)
	a.runner.Err, b.runner.Err = said, said
	var both sync.WaitGroup
	for _, x := range []*bench{a, b} {
		both.Go(func() {
			if s, err := x.runner.Run(t.Context(), ManifestFile); err != nil || s.ExitCode != 0 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	for range 2 {
		if text := <-said; !strings.Contains(text, "waiting for it") {
			t.Errorf("a run that waits says %q", text)
		}
	}
	turn.end()
	both.Wait()
	if got := read(t, record); got != "begin\nend\nbegin\nend\n" {
		t.Errorf("the runs overlap: %q", got)
	}
	// One that waits can be told to stop.
	turn, err = takeTurn(t.Context(), a.runner.State, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.end()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	a.ask("tests", "nonce-c", nil)
	if _, err := a.runner.Run(ctx, ManifestFile); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run that waits ended with %v", err)
	}
}

// A nonce runs once: in this checkout, in another of this machine, and while it runs.
func TestNonceRunsOnce(t *testing.T) {
	b := newBench(t, "echo x >> ran\n")
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	before := b.result("nonce-1", summaryFile)
	for name, change := range map[string]func(){
		"again":      func() {},
		"no results": func() { os.RemoveAll(filepath.Join(b.checkout, resultsFolder)) },
		"no state": func() {
			os.RemoveAll(b.runner.State)
			write(t, filepath.Join(b.checkout, resultsFolder, "nonce-1", summaryFile), before)
		},
	} {
		change()
		_, err := b.runner.Run(t.Context(), ManifestFile)
		if ExitCode(err) != ExitRejected || !strings.Contains(err.Error(), "nonce-1 ran before") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(b.checkout, resultsFolder, rejectedFolder)); err == nil {
			t.Errorf("%s: a replay left a summary", name)
		}
		if text := read(t, filepath.Join(b.checkout, "ran")); text != "x\n" {
			t.Fatalf("%s: it ran again", name)
		}
		os.RemoveAll(b.runner.State)
		os.MkdirAll(filepath.Join(b.runner.State, "nonces"), 0o700)
		write(t, filepath.Join(b.runner.State, "nonces/nonce-1"), "")
	}
	// Two at the same time: one runs, the other is refused.
	c, d := newBench(t, "sleep 0.2\n"), newBench(t, "sleep 0.2\n")
	d.runner.State = c.runner.State
	c.ask("tests", "nonce-2", nil)
	d.ask("tests", "nonce-2", nil)
	codes := make(chan int, 2)
	for _, x := range []*bench{c, d} {
		go func() {
			_, err := x.runner.Run(t.Context(), ManifestFile)
			codes <- ExitCode(err)
		}()
	}
	if a, b := <-codes, <-codes; a+b != ExitRejected {
		t.Errorf("two runs of one nonce ended with %d and %d", a, b)
	}
}

// Results stay in the checkout, whatever links it has.
func TestResultsFollowNoLinks(t *testing.T) {
	for _, at := range []string{resultsFolder, resultsFolder + "/nonce-1"} {
		b := newBench(t, "exit 0\n")
		b.ask("tests", "nonce-1", nil)
		outside := t.TempDir()
		link := filepath.Join(b.checkout, at)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(outside, link)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.runner.Run(t.Context(), ManifestFile); err == nil {
			t.Errorf("%s: a run with a link in its place succeeds", at)
		}
		if entries, _ := os.ReadDir(outside); len(entries) > 0 {
			t.Errorf("%s: %v lies outside", at, entries)
		}
	}
	// A command replaces a file of the results by a link.
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "mine")
	b := newBench(t, "ln -s "+victim+" .tandem-bridge/results/nonce-1/new-summary.json\n")
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	if read(t, victim) != "mine" || !strings.Contains(b.result("nonce-1", summaryFile), "nonce-1") {
		t.Error("the summary followed a link")
	}
}

// Of a long log head and tail are kept.
func TestLogIsBounded(t *testing.T) {
	var out strings.Builder
	l := &boundedLog{to: &out, head: 10, most: 5}
	for i := range 100 {
		fmt.Fprintf(l, "%02d", i)
		if len(l.tail) > 3*l.most {
			t.Fatalf("%d bytes are held", len(l.tail))
		}
	}
	if err := l.close(); err != nil ||
		out.String() != "0001020304\n[185 bytes are left out here]\n79899" {
		t.Errorf("kept %q, %v", out.String(), err)
	}
	b := newBench(t, "head -c 5000000 /dev/zero | tr '\\0' 'a'; echo; echo last words\n")
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	log := b.result("nonce-1", "0-go.log")
	if len(log) > logHead+logTail+100 || !strings.HasSuffix(log, "a\nlast words\n") ||
		!strings.Contains(log, " bytes are left out here]") {
		t.Errorf("the log has %d bytes and ends in %q", len(log), log[len(log)-30:])
	}
}
