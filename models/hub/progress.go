package hub

import (
	"fmt"
	"sync"
	"time"
)

const (
	progressEvery = 100 * time.Millisecond
	progressIdle  = time.Second      // between reports when nothing moves, so that the rate is seen to fall
	stalledAfter  = 10 * time.Second // without a byte, after which Waiting says so
	rateWindow    = 10 * time.Second // that the rate is averaged over, so that a time left does not jump
)

// A Progress is the state of a [Pull]. The callback may keep it.
type Progress struct {
	Done    int64   // bytes on disk of all files, including those from before
	Total   int64   // bytes of all files; 0 until it is known
	Rate    float64 // bytes per second over the last ten seconds
	Waiting string  // why no bytes arrive, such as a pause between attempts, or ""
}

// A meter collects progress from the workers. It reports from one goroutine, at most ten times a
// second.
type meter struct {
	report func(Progress)

	mu      sync.Mutex
	files   []arrival // by slot
	waiting string
	changed bool
	last    time.Time // of the last report
	moved   time.Time // when something last arrived or was planned
	marks   []mark    // bytes that arrived, for the rate
	arrived int64

	stop    chan struct{}
	stopped sync.WaitGroup
}

// An arrival is how much of one file is on disk, in bytes.
type arrival struct{ done, total int64 }

type mark struct {
	at    time.Time
	bytes int64
}

// newMeter starts a meter. The caller closes it.
func newMeter(report func(Progress)) *meter {
	m := &meter{report: report, stop: make(chan struct{})}
	if report == nil {
		return m
	}
	m.stopped.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.flush()
			case <-m.stop:
				m.flush()
				return
			}
		}
	})
	return m
}

// close reports for the last time and waits until the callback has returned.
func (m *meter) close() {
	close(m.stop)
	m.stopped.Wait()
}

func (m *meter) flush() {
	m.mu.Lock()
	now := time.Now()
	m.marks = append(m.marks, mark{now, m.arrived})
	for len(m.marks) > 2 && now.Sub(m.marks[1].at) >= rateWindow {
		m.marks = m.marks[1:]
	}
	if !m.changed && (m.files == nil || now.Sub(m.last) < progressIdle) {
		m.mu.Unlock()
		return
	}
	m.changed, m.last = false, now
	p := Progress{Waiting: m.waiting}
	for _, f := range m.files {
		p.Done += f.done
		p.Total += f.total
	}
	if still := now.Sub(m.moved); m.waiting == "" && p.Done < p.Total && still >= stalledAfter {
		p.Waiting = fmt.Sprintf("stalled: nothing has arrived for %d s", int(still.Seconds()))
	}
	if since := m.marks[0]; now.After(since.at) {
		p.Rate = float64(m.arrived-since.bytes) / now.Sub(since.at).Seconds()
	}
	m.mu.Unlock()
	m.report(p)
}

// plan sets the files when all sizes are known.
func (m *meter) plan(files []*file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files, m.moved = make([]arrival, len(files)), time.Now()
	for i, f := range files {
		f.slot = i
		m.files[i] = arrival{f.have, f.size}
	}
	m.changed = true
}

// set records how many bytes of a file are on disk. arrived of them have just come over the
// network.
func (m *meter) set(f *file, done, arrived int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived += arrived
	m.moved = time.Now()
	if arrived > 0 {
		m.waiting = ""
	}
	if f.slot < len(m.files) {
		m.files[f.slot] = arrival{done, f.size}
	}
	m.changed = true
}

// setWaiting sets why no bytes arrive; "" clears it.
func (m *meter) setWaiting(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = m.changed || m.waiting != why
	m.waiting = why
}
