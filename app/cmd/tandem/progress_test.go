package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
)

// noVariables is an environment without variables.
func noVariables(string) string { return "" }

// A wait of 300 ms is shown on a terminal, a shorter one is not. The line is cleared at the
// end.
func TestOnlyLongWaitsAreShown(t *testing.T) {
	loading := &control.Loading{ID: "big", Done: 3e9, Total: 6e9}
	reading := []control.Active{{PromptTokens: 8192, PromptDone: 2048}}
	answering := []control.Active{{CompletionTokens: 1, PromptTokens: 3, PromptDone: 3}}
	others := []control.Active{ // a command line's from before, and an editor's from after
		{RunID: 1, Client: control.CommandLineAgent, PromptTokens: 9000, PromptDone: 300},
		{RunID: 3, Client: "zed", PromptTokens: 7000, PromptDone: 700},
	}
	for _, c := range []struct {
		name     string
		terminal bool
		state    control.State
		busy     time.Duration // then idle
		want     string        // a part of the drawn text; empty = nothing is drawn
	}{
		{"load", true, control.State{Loading: loading}, 5 * time.Second, "loading big [===============               ]  50% 3.0 GB of 6.0 GB"},
		{"load of 300 ms", true, control.State{Loading: loading}, 250 * time.Millisecond, "loading big"},
		{"load of unknown size", true, control.State{Loading: &control.Loading{ID: "big"}}, 5 * time.Second, "loading big\r"},
		{"short load", true, control.State{Loading: loading}, 150 * time.Millisecond, ""},
		{"prompt", true, control.State{Active: reading}, 5 * time.Second, "reading the prompt [=======                       ]  25% 2,048 of 8,192 tokens"},
		{"prompt that is restored in part", true, control.State{Active: []control.Active{{PromptTokens: 8192, PromptDone: 6144, PromptRestored: 4096}}}, 5 * time.Second, "reading the prompt [===============               ]  50% 2,048 of 4,096 tokens"},
		{"prompt that waits", true, control.State{Active: []control.Active{{PromptTokens: 8192}}}, 5 * time.Second, "waiting to read 8,192 tokens"},
		{"prompt that is restored", true, control.State{Active: []control.Active{{PromptTokens: 300, RestoringSince: time.Now()}}}, 5 * time.Second, "restoring the prompt"},
		{"prompt whose first part is read", true, control.State{Active: []control.Active{{PromptTokens: 300, Begun: true}}}, 5 * time.Second, "0 of 300 tokens"},
		{"answer", true, control.State{Active: answering}, 5 * time.Second, ""},
		{"nothing but others' requests", true, control.State{}, 5 * time.Second, ""},
		{"no terminal", false, control.State{Loading: loading}, 5 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				m := newMain()
				m.Stderr, m.Terminal, m.Getenv = &out, c.terminal, noVariables
				start := time.Now()
				for i := range c.state.Active {
					c.state.Active[i].RunID, c.state.Active[i].Client = 2, control.CommandLineAgent
				}
				looks := 0
				stop := m.watch(t.Context(), func(context.Context) (control.State, error) {
					if looks++; looks == 1 || time.Since(start) > c.busy {
						return control.State{Active: others[:1]}, nil
					}
					s := c.state
					s.Active = slices.Concat(others[:1], s.Active, others[1:])
					return s, nil
				})
				time.Sleep(10 * time.Second)
				stop()
				stop()
				if got := out.String(); c.want == "" && got != "" ||
					!strings.Contains(got, c.want) {
					t.Errorf("drew %q, want %q", got, c.want)
				} else if c.want != "" && !strings.HasSuffix(got, "\r\x1b[K") {
					t.Errorf("%q stays on the line", got[max(0, len(got)-80):])
				}
			})
		})
	}
	// A resumed run is its own client's.
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := newMain()
		m.Stderr, m.Terminal, m.Getenv = &out, true, noVariables
		looks := 0
		stop := m.watchAs(t.Context(), func(context.Context) (control.State, error) {
			looks++
			return control.State{Active: others[:min(looks, 2)]}, nil
		}, "zed")
		time.Sleep(time.Second)
		stop()
		if !strings.Contains(out.String(), "700 of 7,000 tokens") {
			t.Errorf("of the request of zed it drew %q", out.String())
		}
	})
	// A failed call for the state ends the watch, and the caller goes on.
	m := newMain()
	m.Stderr, m.Terminal, m.Getenv = &bytes.Buffer{}, true, noVariables
	stop := m.watch(t.Context(),
		func(context.Context) (control.State, error) {
			return control.State{}, errors.New("gone")
		})
	stop()
}

// Bytes and counts are printed in the largest unit that fits.
func TestBytesHaveTheLargestUnitThatFits(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1536: "1.5 kB",
		24_408_912: "24.4 MB", 6e12: "6.0 TB"} {
		if got := control.ByteSize(n); got != want {
			t.Errorf("control.ByteSize(%d) is %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 127_680: "127.7k",
		12_200_064: "12.2M", 8_030_000_000: "8.0B"} {
		if got := control.Count(n); got != want {
			t.Errorf("control.Count(%d) is %s, want %s", n, got, want)
		}
	}
}
