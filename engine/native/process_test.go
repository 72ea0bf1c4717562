package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waitForEnd fails t if a process of the group is alive after some seconds.
func waitForEnd(t *testing.T, group int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("a process of group %d is alive", group)
}

// Four endless templates and grammars. Each is of a kind that counts against no limit of the
// libraries.
var bombs = struct{ templates, grammars []string }{
	templates: []string{
		`{{ ([[1]]*1000000)|sum(start=[]) }}`,
		`{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l == ns.l ~ '' or ns.l|tojson }}`,
	},
	grammars: []string{
		"start: A\nA: ~/.*a.{60}/ & /.*b.{60}/ & ~/.*c.{61}/",
		"start: \"x\" A\nA: ~/.*a.{50}/ & /.*b.{60}/ & ~/.*[cd].{61}/",
	},
}

func TestEndlessTemplateIsRefusedAndItsProcessEnds(t *testing.T) {
	for _, source := range bombs.templates {
		tm, err := NewTemplate(source, NewLane())
		if err != nil {
			t.Fatal(err)
		}
		group := tm.origin.process.group
		_, err = tm.Render(t.Context(), []byte("{}"))
		if e, ok := errors.AsType[*TemplateError](err); !ok || e.Kind != KindLimit {
			t.Errorf("%s: %v", source, err)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
		waitForEnd(t, group)
	}
}

func TestEndlessGrammarIsRefusedAndItsProcessEnds(t *testing.T) {
	v := newVocabulary(t)
	for _, source := range bombs.grammars {
		_, err := v.Matcher(t.Context(), Grammar{Lark: source})
		if e, ok := errors.AsType[*GrammarError](err); !ok || e.Kind != KindLimit {
			t.Errorf("%s: %v", source, err)
		}
	}
	group := v.origin.process.group
	v.origin.process.Close()
	waitForEnd(t, group)
	// the vocabulary is read again
	if got := spell(allowed(t, newMatcher(t, v, Grammar{Regex: "ok"}))); got != "o" {
		t.Errorf("then %q may follow", got)
	}
}

// A grammar may be cheap to compile and dear to follow.
func TestEndlessStepIsRefused(t *testing.T) {
	v := newVocabulary(t)
	for _, source := range []string{
		"start: A\nA: (/.*a.{10}/ | /.*b.{1000}/) & ~/.*c.{2000}/",
		"start: A\nA: /(.*a.{3000}|.*b.{3100}|.*c.{2900}){5}/",
	} {
		m := newMatcher(t, v, Grammar{Lark: source})
		bits := make([]uint32, m.Words())
		var err error
		for i := 0; i < 3000 && err == nil; i++ {
			err = errors.Join(m.Mask(bits), m.Accept(int32("abcacbbax"[i%9])))
		}
		e, ok := errors.AsType[*GrammarError](err)
		if !ok || e.Kind != KindLimit || !strings.Contains(e.Message, "64 MiB of memory to follow") {
			t.Errorf("%s: %v", source, err)
		}
		if !m.Stopped() {
			t.Errorf("%s: a broken matcher has not stopped", source)
		}
	}
}

func TestCallEndsWithItsClient(t *testing.T) {
	tm := mustTemplate(t, bombs.templates[0])
	v := newVocabulary(t)
	why := errors.New("the client left")
	for name, call := range map[string]func(ctx context.Context) error{
		"template": func(ctx context.Context) error {
			_, err := tm.Render(ctx, []byte("{}"))
			return err
		},
		"grammar": func(ctx context.Context) error {
			_, err := v.Matcher(ctx, Grammar{Lark: bombs.grammars[0]})
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(why) }) // the heavy call is under way
		start := time.Now()
		if err := call(ctx); err != why || time.Since(start) > heavy.time {
			t.Errorf("%s: %v after %v", name, err, time.Since(start))
		}
	}
}

// A call that needs much waits for its turn, and a usual one does not.
func TestHeavyCallsComputeOneAtATime(t *testing.T) {
	lane := NewLane()
	lane.turn <- struct{}{} // another heavy call computes
	bomb, err := NewTemplate(bombs.templates[0], lane)
	if err != nil {
		t.Fatal(err)
	}
	defer bomb.Close()
	usual, err := NewTemplate("{{ 1 }}", lane)
	if err != nil {
		t.Fatal(err)
	}
	defer usual.Close()
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, err := bomb.Render(ctx, []byte("{}"))
		waits <- err
	}()
	time.Sleep(500 * time.Millisecond) // nothing tells that a process does not end
	if text, err := usual.Render(t.Context(), []byte("{}")); text != "1" || err != nil {
		t.Errorf("a usual template renders %q, %v", text, err)
	}
	select {
	case err := <-waits:
		t.Errorf("a heavy template did not wait: %v", err)
	default:
	}
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("the client left while it waited: %v", err)
	}
}

// The stack of a hostile value overflows in a process that does nothing else.
func TestProcessThatCrashesIsAnError(t *testing.T) {
	tm := mustTemplate(t, "{{ x }}")
	p, err := tm.origin.copy()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-p.group, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	if _, err := p.call(t.Context(), 'r', make([]byte, 28), quick); err == nil {
		t.Error("a process that has crashed answers")
	}
	tm.origin.process.conn.Read(make([]byte, 1)) // returns once the process it was copied from is gone too
	if text, err := tm.Render(t.Context(), []byte(`{"x":"again"}`)); text != "again" || err != nil {
		t.Errorf("after a crash the template renders %q, %v", text, err)
	}
}

// TestProcessThatIsLostIsReplaced kills all processes, and stops them, before calls that do nothing
// wrong.
func TestProcessThatIsLostIsReplaced(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		lane := &Lane{make(chan struct{}, 1), heavy, 20 * time.Second}
		tm, err := NewTemplate("{{ x }}", lane)
		if err != nil {
			t.Fatal(err)
		}
		v := newVocabularyOn(t, lane)
		if signal == syscall.SIGSTOP {
			lane.time = 8 * time.Second // half of it goes to the stopped process
		}
		groups := []int{tm.origin.process.group, v.origin.process.group}
		for _, group := range groups {
			if err := syscall.Kill(-group, signal); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := tm.Render(t.Context(), []byte(`{"x":"again"}`)); text != "again" || err != nil {
			t.Errorf("%v: the template renders %q, %v", signal, text, err)
		}
		m, err := v.Matcher(t.Context(), Grammar{Regex: "a"})
		if err != nil {
			t.Errorf("%v: the grammar: %v", signal, err)
		} else if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := tm.Close(); err != nil {
			t.Error(err)
		}
		for _, group := range groups {
			_ = syscall.Kill(-group, syscall.SIGKILL) // the stopped ones
		}
	}
}

// TestMatcherWhoseProcessIsLostGoesOn kills the processes of a matcher in the middle of a text, twice. It
// goes on where it was. Where it gets no other process, it says that the grammar is not at fault.
func TestMatcherWhoseProcessIsLostGoesOn(t *testing.T) {
	for _, steps := range [][]func(m *Matcher) error{
		{func(m *Matcher) error { return m.Accept('b') }},
		{func(m *Matcher) error { return m.Rollback(1) }, func(m *Matcher) error { return m.Accept('a') }, func(m *Matcher) error { return m.Accept('b') }},
		{func(m *Matcher) error { return m.Walk([]int32{'b'}, 0, make([]uint32, 2*m.Words())) }, func(m *Matcher) error { return m.Accept('b') }},
	} {
		v := newVocabularyOn(t, patientLane())
		m := newMatcher(t, v, Grammar{Regex: "aaab(cd|ef)"})
		kill := func() {
			t.Helper()
			if err := syscall.Kill(-m.process.group, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range "aaab" {
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Rollback(1); err != nil {
			t.Fatal(err)
		}
		kill()
		for _, step := range steps {
			if err := step(m); err != nil {
				t.Fatal(err)
			}
		}
		if got := spell(allowed(t, m)); got != "c e" {
			t.Errorf("then %q may follow", got)
		}
		kill()
		if err := m.Accept('c'); err != nil {
			t.Error(err)
		}
		v.origin.lane.time = 0
		kill()
		if err := m.Accept('d'); !errors.Is(err, ErrProcess) || !m.Stopped() {
			t.Errorf("without another process it ends with %v", err)
		}
	}
}

// TestGrammarThatCrashesIsRefused has grammars whose parts refer to one another so deep that the stack
// overflows. What was made before goes on.
func TestGrammarThatCrashesIsRefused(t *testing.T) {
	chain := func(n int, first, link, last string) string {
		var b strings.Builder
		b.WriteString(first)
		for i := range n {
			fmt.Fprintf(&b, link, i, i+1)
		}
		return b.String() + last
	}
	v := newVocabularyOn(t, patientLane())
	before, group := newMatcher(t, v, Grammar{Regex: "ab"}), v.origin.process.group
	references := Grammar{JSON: json.RawMessage(chain(20_000, `{"$ref":"#/$defs/d0","$defs":{`,
		`"d%d":{"$ref":"#/$defs/d%d"},`, `"d20000":{"type":"null"}}}`))}
	for name, g := range map[string]Grammar{
		"rules":       {Lark: chain(30_000, "start: a0\n", "a%d: a%d \"x\"\n", `a30000: "x"`)},
		"other names": {Lark: chain(30_000, "start: \"{\" b0 \"}\"\n", "b%d: b%d | \"y\" b%[2]d\n", `b30000: /[0-9]+/`)},
		"references":  references,
		"references of a choice": {JSON: json.RawMessage(chain(20_000, `{"properties":{"a":{"$ref":"#/$defs/e0"}},"$defs":{`,
			`"e%d":{"anyOf":[{"$ref":"#/$defs/e%d"}]},`, `"e20000":{"type":"string"}}}`))},
		"a schema in rules": {Lark: "start: \"x\" %json " + chain(20_000, `{"$ref":"#/$defs/d0","$defs":{`,
			`"d%d":{"$ref":"#/$defs/d%d"},`, `"d20000":{"type":"null"}}}`)},
	} {
		_, err := v.Matcher(t.Context(), g)
		e, ok := errors.AsType[*GrammarError](err)
		if !ok || e.Kind != KindLimit || !strings.Contains(e.Message, "compile it crashed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	push(t, before, "a")
	if v.origin.process.group != group {
		t.Error("the vocabulary was read again")
	}
	// a step that crashes: to compile is one here
	source, err := serialised([]Grammar{references})
	if err != nil {
		t.Fatal(err)
	}
	_, err = before.step('g', source)
	e, ok := errors.AsType[*GrammarError](err)
	if !ok || !strings.Contains(e.Message, "follow it crashed") || !before.Stopped() {
		t.Errorf("a step that crashes: %v", err)
	}
}

// TestProcessesThatAllEndAreNotTheGrammarsFault has something end all processes as they begin, twice.
func TestProcessesThatAllEndAreNotTheGrammarsFault(t *testing.T) {
	v := newVocabularyOn(t, patientLane())
	err := fmt.Errorf("%w (EOF)", errEnded)
	if _, ok := errors.AsType[*failure](v.origin.blame(errEnded, err)); !ok {
		t.Error("a process that ended beside one that lives is not at fault")
	}
	if err := syscall.Kill(-v.origin.process.group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := v.origin.blame(errEnded, err); got != err {
		t.Errorf("a call whose processes were all ended: %v", got)
	}
}

// TestHeavyCallThatIsStoppedIsNotTheGrammarsFault stops the process of a call with the heavy budget, of
// which it has used next to nothing.
func TestHeavyCallThatIsStoppedIsNotTheGrammarsFault(t *testing.T) {
	lane := patientLane()
	v := newVocabularyOn(t, lane)
	lane.time = 3 * time.Second
	group := v.origin.process.group
	defer syscall.Kill(-group, syscall.SIGKILL)
	fault := make(chan error)
	go func() {
		_, err := v.Matcher(t.Context(), Grammar{Lark: bombs.grammars[0]})
		fault <- err
	}()
	for end := time.Now().Add(lane.time); len(lane.turn) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if len(lane.turn) == 0 {
		t.Fatal("the grammar is not a heavy call")
	}
	if err := syscall.Kill(-group, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := <-fault; !errors.Is(err, ErrProcess) {
		t.Errorf("a heavy grammar that was stopped: %v", err)
	}
}

// TestReplayIsBoundedInAll kills the process of a matcher that has accepted more than it can replay in
// the time of a call.
func TestReplayIsBoundedInAll(t *testing.T) {
	lane := patientLane()
	v := newVocabularyOn(t, lane)
	m := newMatcher(t, v, Grammar{Regex: "a*"})
	m.accepted = slices.Repeat([]int32{'a'}, 200_000) // takes seconds
	lane.time = 300 * time.Millisecond
	if err := m.process.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Accept('a'); !errors.Is(err, ErrProcess) || !m.Stopped() {
		t.Errorf("a replay without end: %v", err)
	}
}

// TestProcessThatIsLostAtItsLoadIsReplaced has something end the first process, and both, before they are
// prepared.
func TestProcessThatIsLostAtItsLoadIsReplaced(t *testing.T) {
	for lost := 1; lost <= 2; lost++ {
		prepared := 0
		o, err := newOrigin(nil, func(p *process) error {
			if prepared++; prepared <= lost {
				if err := syscall.Kill(-p.group, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			_, err := p.call(t.Context(), 't', []byte("{{ 1 }}"), heavy)
			return err
		})
		if (err == nil) != (lost == 1) || err != nil && !errors.Is(err, ErrProcess) {
			t.Errorf("%d lost: %v", lost, err)
		}
		if err == nil {
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A program that was replaced on disk is asked for an older interface. It must not run as itself.
func TestProgramThatIsAskedForAnotherInterfaceEnds(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: program, Args: []string{"tandem-native-0", "-test.run=^$"}}
	out, err := cmd.CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 1 || len(out) > 0 {
		t.Errorf("the program ends with %v and prints %q", err, out)
	}
}

func TestProcessGetsNoSecrets(t *testing.T) {
	env := strings.Join(processEnv([]string{"HF_TOKEN=secret", "LD_PRELOAD=x", "HOME=/"}), " ")
	if strings.Contains(env, "secret") || !strings.Contains(env, "LD_PRELOAD=x") {
		t.Errorf("the process gets %q", env)
	}
}

// BenchmarkCalls tells the cost of a call for a template of one instruction, and of one step of a
// matcher.
func BenchmarkCalls(b *testing.B) {
	b.Run("render", func(b *testing.B) {
		tm := mustTemplate(b, "{{ x }}")
		for b.Loop() {
			if _, err := tm.Render(b.Context(), []byte(`{"x":1}`)); err != nil {
				b.Fatal(err)
			}
		}
	})
	v, err := NewVocabulary(len(vocabulary), token, []int32{endToken}, NewLane())
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			m, err := v.Matcher(b.Context(), Grammar{JSON: []byte(`{"type":"object"}`)})
			if err != nil {
				b.Fatal(err)
			}
			m.Close()
		}
	})
	b.Run("step", func(b *testing.B) {
		m, err := v.Matcher(b.Context(), Grammar{Regex: "a*"})
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		bits := make([]uint32, m.Words())
		for b.Loop() {
			if m.Walk([]int32{'a'}, 1, bits) != nil || m.Accept('a') != nil {
				b.Fatal("the matcher is broken")
			}
		}
	})
}
