package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Runner runs requests on this machine, in one checkout.
type Runner struct {
	Dir        string // the checkout
	State      string // folder of the lock and of the used nonces; shared by all checkouts
	Machine    string // for the summary
	Version    string // of the program
	Program    string // the file of this program, which is the gate
	AnyMachine bool   // presets that measure a Mac may run here
	Getenv     func(string) string
	Err        io.Writer // progress

	start   func(context.Context, command) (int, error) // nil = command.run
	system  string                                      // OS/arch; empty = this machine's
	folders []string                                    // of programs beside PATH; nil = installed
	grace   time.Duration                               // 0 = killGrace
}

// An IncapableError says what this machine lacks for a preset.
type IncapableError struct{ Reason string }

func (e *IncapableError) Error() string { return e.Reason }

// addLack appends an *IncapableError, unless the list has one with the same text.
func addLack(list []error, format string, args ...any) []error {
	lack := &IncapableError{fmt.Sprintf(format, args...)}
	if slices.ContainsFunc(list, func(err error) bool { return err.Error() == lack.Reason }) {
		return list
	}
	return append(list, lack)
}

// A plan is a request with a valid manifest.
type plan struct {
	request  Request
	commands [][]string
	lacks    []error  // each an *IncapableError why this machine cannot run it
	programs []string // the files of the commands' first words; empty = one that is built
	lock     *runLock // for the commands to hold; may be nil

	repository *Repository // that has the commit
	folder     *workFolder // nil until the run begins
}

// Mac is the machine that presets measure.
const Mac = "darwin/arm64"

// DryRun writes the commands of a manifest to w, one JSON list a line, and does not start them.
// What this machine lacks to run them is a message; words of variables that it lacks stay as the
// preset has them.
func (r *Runner) DryRun(ctx context.Context, manifest string, w io.Writer) error {
	checkout, err := os.OpenRoot(r.Dir)
	if err != nil {
		return err
	}
	defer checkout.Close()
	p, err := r.plan(ctx, checkout, manifest)
	if err != nil {
		return err
	}
	for _, words := range p.commands {
		line, err := json.Marshal(words)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	for _, lack := range p.lacks {
		fmt.Fprintf(r.Err, "bridge: this machine cannot run them: %v\n", lack)
	}
	return nil
}

// plan checks the manifest, then the machine, then the commit. It starts only git.
func (r *Runner) plan(ctx context.Context, checkout *os.Root, manifest string) (*plan, error) {
	text, err := readManifest(checkout, manifest)
	if err != nil {
		return nil, err
	}
	request, err := Parse(text)
	if err != nil {
		return nil, err
	}
	dir := path.Join(resultsFolder, request.Nonce)
	if _, err := checkout.Lstat(path.Join(dir, summaryFile)); err == nil {
		return nil, &RejectedError{quiet: true,
			Reason: fmt.Sprintf("the nonce %s ran before; make a new request", request.Nonce)}
	}
	commands, lacks, err := request.expand(checkout, r.Getenv, path.Join(dir, reportName))
	if err != nil {
		return nil, err
	}
	p := &plan{request: request, commands: commands}
	system := r.system
	if system == "" {
		system = runtime.GOOS + "/" + runtime.GOARCH
	}
	if request.Preset.Measures && system != Mac && !r.AnyMachine {
		p.lacks = addLack(p.lacks,
			"%s measures Macs with Apple silicon, and this machine is %s; add --any-machine to run it here all the same",
			request.Preset.Name, system)
	}
	p.lacks = append(p.lacks, lacks...)
	folders := r.folders
	if folders == nil {
		folders = installed
	}
	for _, words := range commands {
		program := ""
		switch {
		case isGate(words):
			program = r.Program
		case mains[words[0]] == "":
			if program, err = findProgram(words[0], r.Getenv, folders); err != nil {
				p.lacks = addLack(p.lacks, "%s needs %s: %v; `tandem-lab bridge doctor --runner` says more",
					request.Preset.Name, words[0], err)
			}
		}
		p.programs = append(p.programs, program)
	}
	p.repository, err = r.findCommit(ctx, request.Ref)
	return p, err
}

// findCommit returns the repository that has the commit of a request, with all of its files.
func (r *Runner) findCommit(ctx context.Context, commit string) (*Repository, error) {
	repository, err := OpenRepository(ctx, r.Dir, commandEnv(r.Getenv))
	if err != nil {
		return nil, &IncapableError{err.Error()}
	}
	if _, err := repository.Resolve(ctx, commit); err != nil {
		return nil, reject("the manifest asks for the commit %.12s, which is not in this checkout; it must be the one below the manifest's, and a checkout needs both",
			commit)
	}
	pointers, err := repository.Pointers(ctx, commit)
	if err == nil && len(pointers) > 0 {
		err = &IncapableError{fmt.Sprintf(
			"the commit %.12s has pointers of Git LFS in place of files (%s); commit the files themselves",
			commit, firstNames(pointers))}
	}
	return repository, err
}

// Run runs the request of a manifest, which is a path in the checkout. The summary's ExitCode is
// the run's. After an error nothing ran. Run then writes a summary too, so that the client learns
// why, unless results of this nonce exist.
func (r *Runner) Run(ctx context.Context, manifest string) (*Summary, error) {
	checkout, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, err
	}
	defer checkout.Close()
	s, err := r.run(ctx, checkout, manifest)
	if err != nil {
		return nil, errors.Join(err, r.saveReason(checkout, err))
	}
	return s, nil
}

func (r *Runner) run(ctx context.Context, checkout *os.Root, manifest string) (*Summary, error) {
	p, err := r.plan(ctx, checkout, manifest)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("the runner was told to stop: %w", ctx.Err()) // so git says nothing
	}
	if err != nil {
		return nil, err
	}
	if len(p.lacks) > 0 {
		return nil, p.lacks[0]
	}
	lock, err := acquireRunLock(ctx, r.State, func() {
		fmt.Fprintln(r.Err, "bridge: another run is under way on this machine; waiting for it")
	})
	if err != nil {
		return nil, err
	}
	defer lock.release()
	out, err := openResults(checkout, p.request.Nonce)
	if err != nil {
		return nil, err
	}
	if err := lock.claimNonce(p.request.Nonce); err != nil {
		return nil, err
	}
	p.lock = lock
	s := r.runPlan(ctx, p, out)
	return s, r.save(out, s)
}

// save writes the summary of a run that ended, and prints the next step for those who run it by
// hand.
func (r *Runner) save(out results, s *Summary) error {
	if err := out.save(s); err != nil {
		return err
	}
	fmt.Fprintf(r.Err, "bridge: the results are in %s; `tandem-lab bridge publish` sends them\n", out.dir)
	return nil
}

// saveReason writes a summary that tells the client why nothing ran.
func (r *Runner) saveReason(checkout *os.Root, reason error) error {
	if rejected, ok := errors.AsType[*RejectedError](reason); ok && rejected.quiet {
		return nil
	}
	out, err := openResults(checkout, rejectedFolder)
	if err != nil {
		return err
	}
	s := r.newSummary()
	s.ExitCode, s.Error = ExitCode(reason), reason.Error()
	return r.save(out, s)
}

// newSummary returns an empty summary.
func (r *Runner) newSummary() *Summary {
	return &Summary{SchemaVersion: schemaVersion, Params: map[string]any{}, Machine: r.Machine,
		Runner: r.Version, Started: time.Now().UTC(), Commands: []Ran{}}
}

// runPlan runs a plan in a new work folder.
func (r *Runner) runPlan(ctx context.Context, p *plan, out results) *Summary {
	q := p.request
	s := r.newSummary()
	s.Preset, s.Nonce, s.Ref, s.RequestedBy = q.Preset.Name, q.Nonce, q.Ref, q.RequestedBy
	if q.Params != nil {
		s.Params = q.Params
	}
	limited, cancel := context.WithTimeoutCause(ctx, q.Preset.Limit,
		fmt.Errorf("the time limit of %v for %s is over", q.Preset.Limit, q.Preset.Name))
	defer cancel()
	// over reports whether the run must end, and records why.
	over := func(err error) bool {
		switch {
		case ctx.Err() != nil:
			s.fail(ExitStopped, "the runner was told to stop")
		case limited.Err() != nil:
			s.fail(1, context.Cause(limited).Error())
		case err != nil:
			s.fail(ExitCode(err), err.Error())
		default:
			return false
		}
		return true
	}
	if over(out.saveCut(s)) {
		return s
	}
	err := r.makeWorkFolder(limited, p)
	defer r.removeWorkFolder(p)
	if over(err) {
		return s
	}
	// run reports whether the command ran to its end.
	run := func(i int) (Ran, bool) {
		if over(out.saveCut(s)) {
			return Ran{}, false
		}
		ran, err := r.runCommand(limited, i, p, out)
		s.Commands = append(s.Commands, ran)
		if err == nil && isGate(p.commands[i]) && limited.Err() == nil {
			s.EvidenceGateExitCode = &ran.ExitCode
		}
		return ran, !over(err)
	}
	runCommands(p, out, s, run)
	return s
}

// runCommands runs the commands by run up to the first that fails, and records that in s. The gate
// checks a report even if the command that wrote it failed, because a bench fails where the gate
// refuses.
func runCommands(p *plan, out results, s *Summary, run func(i int) (Ran, bool)) {
	reports, work := p.request.Preset.Reports, len(p.commands)
	if reports {
		work-- // the last is the gate
	}
	for i := range work {
		ran, ok := run(i)
		if ok && ran.ExitCode != 0 {
			s.fail(1, fmt.Sprintf("%s ended with %d", strings.Join(p.commands[i], " "), ran.ExitCode))
		}
		if !ok || s.ExitCode != 0 && i < work-1 {
			return
		}
	}
	if !reports {
		return
	}
	if !out.has(reportName) {
		s.fail(1, "the commands left no report for the gate")
		return
	}
	if ran, ok := run(work); ok && ran.ExitCode != 0 {
		s.fail(1, "the gate does not admit the report")
	}
}

// runCommand runs one command with its own log.
func (r *Runner) runCommand(ctx context.Context, i int, p *plan, out results) (Ran, error) {
	words, program := p.commands[i], p.programs[i]
	ran := Ran{Argv: words, Log: fmt.Sprintf("%d-%s.log", i, words[0])}
	file, err := out.create(ran.Log)
	if err != nil {
		return ran, fmt.Errorf("the log %s cannot be written: %w", ran.Log, err)
	}
	defer file.Close()
	if program == "" && !isGate(words) {
		built := Built(words[0])
		program = filepath.Join(p.folder.Name(), filepath.FromSlash(built))
		if err := noLinks(p.folder.Root, built, false); err != nil {
			return ran, fmt.Errorf("the commands built no %s: %w", words[0], err)
		}
	}
	fmt.Fprintf(r.Err, "bridge: %s\n", strings.Join(words, " "))
	log := newBoundedLog(file)
	// Go keeps what it compiled for the next run, but tests are not cached.
	env := append(commandEnv(r.Getenv), "GOFLAGS=-count=1")
	c := command{argv: words, program: program, dir: p.folder.Name(), env: env, stdout: log,
		stderr: log, grace: r.grace, lock: p.lock}
	if c.grace == 0 {
		c.grace = killGrace
	}
	start := r.start
	if start == nil {
		start = func(ctx context.Context, c command) (int, error) { return c.run(ctx) }
	}
	began := time.Now()
	ran.ExitCode, err = start(ctx, c)
	ran.Seconds = float64(time.Since(began).Round(time.Millisecond)) / float64(time.Second)
	if err != nil {
		err = fmt.Errorf("%s could not be run: %w", words[0], err)
	}
	fmt.Fprintf(r.Err, "bridge: exit %d after %.1f s\n", ran.ExitCode, ran.Seconds)
	return ran, errors.Join(err, log.close())
}

// ExitCode returns the exit code of a run that ended with err.
func ExitCode(err error) int {
	if _, ok := errors.AsType[*RejectedError](err); ok {
		return ExitRejected
	}
	if _, ok := errors.AsType[*IncapableError](err); ok {
		return ExitIncapable
	}
	if errors.Is(err, context.Canceled) {
		return ExitStopped
	}
	if err != nil {
		return 1
	}
	return 0
}

// firstNames names the first few of a list.
func firstNames(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// pointerHead is the beginning of a pointer file of Git LFS.
const pointerHead = "version https://git-lfs.github.com/spec/v1\n"

// maxPointer bounds the size of such a file, in bytes. The format's own limit is the same.
const maxPointer = 1024
