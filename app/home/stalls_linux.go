package home

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stallsEvery is how often Linux makes new averages of its stalls.
const stallsEvery = 2 * time.Second

// Bounds of the averages over ten seconds, in percent of the time.
const (
	// stallsWarn: some task waits for memory. systemd warns services at 200 ms in 2 s too.
	stallsWarn = 10
	// stallsCritical: no task that could run gets on. It comes well before systemd-oomd ends programs,
	// which it does at 60.
	stallsCritical = 10
	// stallsCalm: an average falls from 10 to 2 within 16 s after the last stall.
	stallsCalm = 2
)

// roomyPart is the part of the memory that is available on a machine that is not short of it. A group
// of programs with a limit stalls there, wherever there is memory beside it.
const roomyPart = 4

// stalls are the averages of the last ten seconds, in percent, and the memory of the machine in kB.
type stalls struct {
	some, full       float64
	total, available int64
}

// WatchStalls is a PressureSource. It reads the pressure stall information of Linux. A kernel without
// that has no levels, which counts as normal.
func WatchStalls(ctx context.Context, say func(Pressure)) error {
	tick := time.NewTicker(stallsEvery)
	defer tick.Stop()
	return watchStalls(ctx, "/proc", tick.C, say)
}

// watchStalls reads the folder of the kernel's figures at each tick.
func watchStalls(ctx context.Context, proc string, tick <-chan time.Time,
	say func(Pressure)) error {
	level := Pressure(-1)
	for {
		s, err := readStalls(proc)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) { // psi=0
			return nil
		}
		if err != nil {
			s = stalls{} // a look that failed ends a shortage, which would have no end otherwise
		}
		if next := s.level(level); next != level {
			level = next
			say(level)
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return nil
		}
	}
}

// level returns the level after was. A level that began ends only when hardly anything waits.
func (s stalls) level(was Pressure) Pressure {
	switch {
	case s.available > s.total/roomyPart:
		return PressureNormal
	case s.full >= stallsCritical:
		return PressureCritical
	case s.some >= stallsWarn, was > PressureNormal && s.some >= stallsCalm:
		return PressureWarning
	}
	return PressureNormal
}

func readStalls(proc string) (s stalls, err error) {
	text, err := os.ReadFile(filepath.Join(proc, "pressure", "memory"))
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		average, _ := strconv.ParseFloat(strings.TrimPrefix(f[1], "avg10="), 64)
		switch f[0] {
		case "some":
			s.some = average
		case "full":
			s.full = average
		}
	}
	if text, err = os.ReadFile(filepath.Join(proc, "meminfo")); err != nil {
		return s, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "MemTotal":
			s.total = n
		case "MemAvailable":
			s.available = n
		}
	}
	return s, nil
}
