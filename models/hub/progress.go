package hub

import (
	"sync"
	"time"
)

const (
	progressEvery = 100 * time.Millisecond
	progressIdle  = time.Second      // when nothing moves, so that the rate falls in sight
	rateWindow    = 10 * time.Second // over which the rate is taken, so that the time left does not jump
)

// A Progress is where a [Pull] stands. It is the callback's to keep.
type Progress struct {
	Done    int64          `json:"done"`  // bytes on disk of all files, those there before included
	Total   int64          `json:"total"` // bytes of all files; 0 until it is known
	Rate    float64        `json:"rate"`  // bytes per second over the last ten seconds
	ETA     time.Duration  `json:"-"`     // time left at that rate; 0 if unknown
	ETAMS   int64          `json:"eta_ms"`
	Waiting string         `json:"waiting,omitempty"` // why nothing moves, e.g. a pause between attempts
	Files   []FileProgress `json:"files"`
}

// A FileProgress is where one file stands.
type FileProgress struct {
	Name  string `json:"name"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// A meter collects progress from the workers and hands it on, from one goroutine and at most ten times a second.
type meter struct {
	report func(Progress)

	mu      sync.Mutex
	files   []FileProgress
	waiting string
	changed bool
	last    time.Time // of the last report
	marks   []mark    // bytes that arrived, for the rate
	arrived int64

	stop    chan struct{}
	stopped sync.WaitGroup
}

type mark struct {
	at    time.Time
	bytes int64
}

// newMeter starts a meter; close it.
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
	p := Progress{Waiting: m.waiting, Files: append([]FileProgress{}, m.files...)}
	for _, f := range m.files {
		p.Done += f.Done
		p.Total += f.Total
	}
	if since := m.marks[0]; now.After(since.at) {
		p.Rate = float64(m.arrived-since.bytes) / now.Sub(since.at).Seconds()
	}
	if p.Rate > 0 {
		p.ETA = time.Duration(float64(p.Total-p.Done) / p.Rate * float64(time.Second)).Round(time.Second)
		p.ETAMS = p.ETA.Milliseconds()
	}
	m.mu.Unlock()
	m.report(p)
}

// plan sets the files, all at once when their sizes are known.
func (m *meter) plan(files []*file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files = make([]FileProgress, len(files))
	for i, f := range files {
		f.slot = i
		m.files[i] = FileProgress{Name: f.name, Done: f.have, Total: f.size}
	}
	m.changed = true
}

// set notes how much of a file is on disk; arrived of it came over the network just now.
func (m *meter) set(f *file, done, arrived int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived += arrived
	if arrived > 0 {
		m.waiting = ""
	}
	if f.slot < len(m.files) {
		m.files[f.slot].Done, m.files[f.slot].Total = done, f.size
	}
	m.changed = true
}

// wait says why nothing moves; "" takes it back.
func (m *meter) wait(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = m.changed || m.waiting != why
	m.waiting = why
}
