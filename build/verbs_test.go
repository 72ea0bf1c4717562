package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// reportOf returns what a report prints of events, and its error.
func reportOf(t *testing.T, events string) (string, error) {
	t.Helper()
	var out strings.Builder
	r := newTestReport(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	return out.String(), r.err()
}

func TestReportRefusesSkips(t *testing.T) {
	const events = `{"Action":"run","Package":"tandem/a","Test":"TestX"}
{"Action":"output","Package":"tandem/a","Test":"TestX","Output":"    x_test.go:1: no MLX here\n"}
{"Action":"skip","Package":"tandem/a","Test":"TestX","Elapsed":0}
{"Action":"output","Package":"tandem/a","Output":"ok  \ttandem/a\t(cached)\n"}
{"Action":"pass","Package":"tandem/a","Elapsed":0.25}
{"Action":"skip","Package":"tandem/b","Elapsed":0}
`
	printed, err := reportOf(t, events)
	if err == nil || !strings.Contains(err.Error(), "tandem/a TestX") ||
		strings.Contains(err.Error(), "tandem/b") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(printed, "tandem/a (cached)") {
		t.Errorf("printed %q", printed)
	}
}

func TestReportShowsFailures(t *testing.T) {
	const events = `{"Action":"output","Package":"tandem/a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"tandem/a","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"tandem/a","Test":"TestBad","Output":"the reason\n"}
{"Action":"fail","Package":"tandem/a","Test":"TestBad","Elapsed":0}
{"Action":"fail","Package":"tandem/a","Elapsed":1}
`
	printed, err := reportOf(t, events)
	if err == nil || !strings.Contains(printed, "the reason") ||
		strings.Contains(printed, "chatter") {
		t.Errorf("error %v, printed %q", err, printed)
	}
}

// TestReportShowsCrashes has the events of a process that a signal ended: its test has no last one. A
// test of another package still runs.
func TestReportShowsCrashes(t *testing.T) {
	const events = `{"Action":"run","Package":"tandem/a","Test":"TestBad"}
{"Action":"output","Package":"tandem/a","Test":"TestBad","Output":"signal: killed\n"}
{"Action":"output","Package":"tandem/a/b","Test":"TestLong","Output":"still running\n"}
{"Action":"output","Package":"tandem/a","Output":"FAIL\ttandem/a\t0.003s\n"}
{"Action":"fail","Package":"tandem/a","Elapsed":1}
`
	printed, err := reportOf(t, events)
	if err == nil || !strings.Contains(err.Error(), "tandem/a TestBad") ||
		!strings.Contains(printed, "signal: killed") || strings.Contains(printed, "still") {
		t.Errorf("error %v, printed %q", err, printed)
	}
}

// TestRunAddsNoFlags expects only the user's flags. serve would keep a --model of ours as the
// user's choice.
func TestRunAddsNoFlags(t *testing.T) {
	for _, args := range [][]string{nil, {"--addr", "127.0.0.1:0"},
		{"--model", "x", "--context", "64"}} {
		cmd := serveCommand("/out/tandem", args)
		if want := append([]string{"/out/tandem", "serve"}, args...); !slices.Equal(cmd.Args,
			want) || cmd.Env != nil {
			t.Errorf("%q runs %q with %q, want %q and our environment",
				args, cmd.Args, cmd.Env, want)
		}
	}
}

func TestDispatchRefusesUnknownVerbs(t *testing.T) {
	for _, args := range [][]string{nil, {"frobnicate"}} {
		var stderr strings.Builder
		err := dispatch(t.Context(), args, &stderr)
		if !errors.Is(err, errUsage) || !strings.Contains(stderr.String(), "fixtures [--check]") {
			t.Errorf("%q: %v, printed %q", args, err, stderr.String())
		}
	}
}
