package main

import (
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

// The figures of a drafter are those of the newest bench of the same model that has it.
func TestFiguresOfADrafterAreTheNewest(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	bench := func(model string, age time.Duration, of ...control.BenchDrafter) control.Bench {
		return control.Bench{Model: model, At: at.Add(-age),
			Result: control.BenchResult{Drafters: of}}
	}
	of := func(source string, times float64, why string) control.BenchDrafter {
		d := control.BenchDrafter{Source: source, Why: why}
		if why == "" {
			d.Decode = control.BenchDecode{Pairs: 9, TokensPerVerify: 2.5,
				Times: control.Spread{Median: times, Low: times - 0.1, High: times + 0.1}}
		}
		return d
	}
	benches := []control.Bench{
		bench("other", 0, of("/a", 9, "")),
		bench("m", time.Hour, of("/b", 0, "It is damaged."), of("", 1.1, "")),
		bench("m", 2*time.Hour, of("/a", 1.5, ""), of("/b", 1.4, "")),
		bench("m", 3*time.Hour, of("/a", 1.2, "")),
	}
	var s draftersState
	for _, source := range []string{"/a", "/b", "/c", ""} {
		f := drafterFigures{DrafterChoice: control.DrafterChoice{Name: "name" + source,
			Source: source, Choice: "none"}}
		f.find("m", benches)
		s.Drafters = append(s.Drafters, f)
	}
	var out strings.Builder
	m := newMain()
	m.Stdout = &out
	if err := m.writeChoices(s.Drafters); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"name/a none 1.50 (1.40 to 1.60) 2.50 2026-11-26 10:00:00",
		"name/b none - - left out: It is damaged.",
		"name/c none - - not measured",
		"name none 1.10 (1.00 to 1.20) 2.50 2026-11-26 11:00:00",
	} {
		line := strings.Split(out.String(), "\n")[i+2]
		if got := strings.Join(strings.Fields(line), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
