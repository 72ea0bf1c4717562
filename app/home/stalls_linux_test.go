package home

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Levels follow the kernel's averages, and each is said. A shortage ends only when hardly anything
// waits. A group that stalls at its own limit is no shortage of the machine.
func TestStallsMakeLevels(t *testing.T) {
	proc := t.TempDir()
	if err := os.Mkdir(filepath.Join(proc, "pressure"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(some, full float64, available int) {
		for name, text := range map[string]string{
			"pressure/memory": fmt.Sprintf("some avg10=%.2f avg60=9.00 avg300=0.00 total=3\n"+
				"full avg10=%.2f avg60=9.00 avg300=0.00 total=2\n", some, full),
			"meminfo": fmt.Sprintf("MemTotal:  1000 kB\nMemFree:  1 kB\nMemAvailable:  %d kB\n",
				available),
		} {
			if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	level := PressureNormal
	for _, c := range []struct {
		some, full float64
		available  int
		want       Pressure
	}{
		{0, 0, 900, PressureNormal},
		{9.9, 0, 100, PressureNormal},
		{10, 0, 100, PressureWarning},
		{30, 10, 100, PressureCritical},
		{30, 9, 100, PressureWarning},
		{2, 0, 100, PressureWarning},
		{1.9, 0, 100, PressureNormal},
		{5, 0, 100, PressureNormal}, // it did not begin
		{80, 60, 400, PressureNormal},
		{80, 60, 100, PressureCritical},
		{80, 60, 400, PressureNormal}, // enough was freed
	} {
		write(c.some, c.full, c.available)
		s, err := readStalls(proc)
		if level = s.level(level); level != c.want || err != nil {
			t.Errorf("%+v: level %d, %v", c, level, err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	tick, ended, said := make(chan time.Time), make(chan error, 1), make(chan Pressure)
	go func() { ended <- watchStalls(ctx, proc, tick, func(p Pressure) { said <- p }) }()
	for _, want := range []Pressure{PressureNormal, PressureCritical, PressureNormal} {
		if got := <-said; got != want {
			t.Errorf("said %d, want %d", got, want)
		}
		if want == PressureNormal {
			write(50, 50, 100)
		} else {
			write(0, 0, 900)
		}
		tick <- time.Time{}
	}
	<-said
	if end(); <-ended != nil {
		t.Error("the end is an error")
	}
	if err := watchStalls(t.Context(), t.TempDir(), nil, func(Pressure) {
		t.Error("a kernel without figures has a level")
	}); err != nil {
		t.Error(err)
	}
}
