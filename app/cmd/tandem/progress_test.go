package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
)

// A wait of 300 ms is shown on a terminal, a shorter one is not. The line is cleared at the
// end.
func TestOnlyLongWaitsAreShown(t *testing.T) {
	loading := &control.Loading{ID: "big", Done: 3e9, Total: 6e9}
	reading := []control.Active{
		{CompletionTokens: 1, PromptTokens: 3, PromptDone: 3}, // answers already
		{PromptTokens: 8192, PromptDone: 2048},
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
		{"load of unknown size", true, control.State{Loading: &control.Loading{ID: "big"}}, 5 * time.Second, "loading big 0 B"},
		{"short load", true, control.State{Loading: loading}, 150 * time.Millisecond, ""},
		{"prompt", true, control.State{Active: reading}, 5 * time.Second, "reading the prompt [=======                       ]  25% 2048 of 8192 tokens"},
		{"prompt that is restored in part", true, control.State{Active: []control.Active{{PromptTokens: 8192, PromptDone: 6144, PromptRestored: 4096}}}, 5 * time.Second, "reading the prompt [===============               ]  50% 2048 of 4096 tokens"},
		{"prompt that waits", true, control.State{Active: []control.Active{{PromptTokens: 8192}}}, 5 * time.Second, "waiting to read 8192 tokens"},
		{"prompt that is restored", true, control.State{Active: []control.Active{{PromptTokens: 300, RestoringSince: time.Now()}}}, 5 * time.Second, "restoring the prompt"},
		{"prompt whose first part is read", true, control.State{Active: []control.Active{{PromptTokens: 300, Begun: true}}}, 5 * time.Second, "0 of 300 tokens"},
		{"answer", true, control.State{Active: reading[:1]}, 5 * time.Second, ""},
		{"no terminal", false, control.State{Loading: loading}, 5 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				m := newMain()
				m.Stderr, m.Terminal = &out, c.terminal
				start := time.Now()
				stop := m.watch(t.Context(), func(context.Context) (control.State, error) {
					if time.Since(start) > c.busy {
						return control.State{}, nil
					}
					return c.state, nil
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
	// A failed call for the state ends the watch, and the caller goes on.
	m := newMain()
	m.Stderr, m.Terminal = &bytes.Buffer{}, true
	stop := m.watch(t.Context(),
		func(context.Context) (control.State, error) {
			return control.State{}, errors.New("gone")
		})
	stop()
}

// Bytes and counts are printed in the largest unit that fits. A gauge has 30 cells and shows 100%
// at most.
func TestBytesHaveTheLargestUnitThatFits(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1536: "1.5 kB",
		24_408_912: "24.4 MB", 6e12: "6.0 TB"} {
		if got := control.ByteSize(n); got != want {
			t.Errorf("control.ByteSize(%d) is %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 127_680: "127.7k",
		12_200_064: "12.2M", 8_030_000_000: "8.0B"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) is %s, want %s", n, got, want)
		}
	}
	for _, c := range []struct {
		done, total int64
		want        string
	}{{0, 7, "  0%"}, {7, 7, "100%"}, {9, 7, "100%"}, {1 << 62, 1 << 62, "100%"}} {
		if got := gauge(c.done, c.total); !strings.HasSuffix(got, c.want) ||
			len(got) != len("[] 100%")+30 {
			t.Errorf("gauge(%d, %d) is %q, want %q at its end", c.done, c.total, got, c.want)
		}
	}
}

// A flag of a size takes decimal and binary units from 1 MB on. It refuses a number without a unit.
func TestSizeFlagReadsUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"4GB": 4e9, "1.5 GB": 15e8, "500MB": 5e8, "2000KB": 2e6, "1000000B": 1e6, "1TB": 1e12,
		"4GiB": 4 << 30, "1.5 GiB": 3 << 29, "64MiB": 64 << 20, "2000KiB": 2000 << 10,
		"2000kiB": 2000 << 10, "1TiB": 1 << 40,
		"": 0, "GB": 0, "4": 0, "4G": 0, "-4GB": 0, "4XB": 0, "999kB": 0, "NaNGB": 0, "1e30TB": 0,
		"4GBGB": 0, "4i": 0, "4iB": 0, "4GBi": 0, "4Gi": 0, "900kiB": 0, "4 MiBB": 0,
	} {
		var n int64
		if err := sizeFlag(&n)(text); (err == nil) != (want > 0) || n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, err, want)
		}
	}
}
