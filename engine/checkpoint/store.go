package checkpoint

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// What may wait to be written, in memory: so many files, and so many bytes behind
// the first. What comes beyond that stays in memory alone.
const (
	queued      = 16
	queuedBytes = 512 << 20
)

// StoreOptions say where a Store keeps files, and whose.
type StoreOptions struct {
	Dir     string // a folder of its own, made if missing
	Key     string // tells the target, its type and its layout from others
	Context string // tells the drafter whose contexts are kept from others

	Budget int64        // bytes of all files of the folder; the oldest go first
	PerDay int64        // bytes written in 24 hours at most, as far as files are left of them; 0 is no bound
	Logger *slog.Logger // nil discards
}

// A Store keeps what a trie holds in files, and brings it back after a restart.
// Files are written by a goroutine of its own, one after the other. A folder
// that cannot be written to, or a full disk, costs what would have been kept, and a
// warning.
type Store struct {
	o       StoreOptions
	first   string // name of a file that this store could have begun first
	jobs    chan *job
	pending sync.WaitGroup // jobs
	found   chan []found   // by the first scan; nil once they are taken

	mu      sync.Mutex
	done    []*job
	waiting int64 // bytes of the jobs
	failure string
	recent  int64     // bytes written since
	since   time.Time // and this, a day ago at most
}

// A job is a file to be written.
type job struct {
	path     string
	header   header
	image    *mlx.TensorImage
	bytes    int64             // of the image
	captures []*cache.Snapshot // of what is in it, retained; nil where nothing is
	err      error
}

// NewStore begins to keep files, and to look for those that are there. Close
// ends it.
func NewStore(o StoreOptions) *Store {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Store{o: o, jobs: make(chan *job, queued)}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		d.fail(err)
	}
	d.since = time.Now()
	d.first = fileName(d.since)
	for _, f := range d.list() {
		if d.since.Sub(f.date) < day {
			d.recent += f.bytes
		}
	}
	d.found = make(chan []found, 1)
	go func() { d.found <- d.scan() }()
	go d.write()
	return d
}

const day = 24 * time.Hour

// spend reports whether so many bytes more may wait and be written today, and
// counts them.
func (d *Store) spend(bytes int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting > 0 && d.waiting+bytes > queuedBytes {
		return false
	}
	if now := time.Now(); now.Sub(d.since) >= day {
		d.since, d.recent = now, 0
	}
	if d.o.PerDay > 0 && d.recent+bytes > d.o.PerDay {
		return false
	}
	d.recent += bytes
	d.waiting += bytes
	return true
}

// Failure says why files are not kept, "" while they are.
func (d *Store) Failure() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

func (d *Store) fail(err error) {
	d.mu.Lock()
	first := d.failure == ""
	d.failure = fmt.Sprintf("checkpoints are not written to disk: %v", err)
	d.mu.Unlock()
	if first {
		d.o.Logger.Warn("checkpoints are not written to disk and end with the program", "folder", d.o.Dir, "error", err)
	}
}

// write works off the jobs.
func (d *Store) write() {
	for j := range d.jobs {
		j.err = writeFile(j.path, j.header, j.image)
		d.mu.Lock()
		d.done = append(d.done, j)
		d.waiting -= j.bytes
		if j.err == nil {
			d.failure = ""
		}
		d.mu.Unlock()
		if j.err != nil {
			d.fail(j.err)
		} else if err := d.sweep(); err != nil {
			d.o.Logger.Warn("keeping checkpoints within their budget", "error", err)
		}
		d.pending.Done()
	}
}

// A listed file is one of the folder's.
type listed struct {
	path  string
	bytes int64
	date  time.Time
}

// list returns the files there are, of all keys.
func (d *Store) list() (files []listed) {
	entries, err := os.ReadDir(d.o.Dir)
	if err != nil {
		d.fail(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), fileSuffix) {
			files = append(files, listed{filepath.Join(d.o.Dir, e.Name()), info.Size(), info.ModTime()})
		}
	}
	return files
}

// sweep deletes the oldest files until the rest is within the budget.
func (d *Store) sweep() error {
	files, sum := d.list(), int64(0)
	for _, f := range files {
		sum += f.bytes
	}
	slices.SortFunc(files, func(a, b listed) int { return a.date.Compare(b.date) })
	for _, f := range files {
		if sum <= d.o.Budget {
			return nil
		}
		if err := os.Remove(f.path); err != nil {
			return err
		}
		sum -= f.bytes
	}
	return nil
}

// offer has the captures of an edge written, unless too much waits or was
// written today: those of text from position from on, of the needed caches and
// behind them of a draft's. It evaluates.
func (d *Store) offer(s *mlx.Scope, text []int32, from, needed int, captures []*cache.Snapshot) error {
	if len(d.jobs) == cap(d.jobs) {
		return nil
	}
	j := &job{header: header{Key: d.o.Key, Context: d.o.Context, Tokens: text, From: from, Needed: needed}}
	var arrays []mlx.NamedArray
	for i, p := range captures {
		if p == nil || p.From() == p.To() {
			j.header.Spans = append(j.header.Spans, nil)
			continue
		}
		k, v := p.Rows(s)
		arrays = append(arrays, mlx.NamedArray{Name: fmt.Sprintf("%d.k", i), Array: k}, mlx.NamedArray{Name: fmt.Sprintf("%d.v", i), Array: v})
		j.header.Spans = append(j.header.Spans, &span{p.From(), p.To()})
	}
	if s.Err() != nil {
		return s.Err()
	}
	var err error
	if j.image, err = s.Tensors(arrays); err != nil {
		return err
	}
	if j.bytes = j.image.Bytes(); !d.spend(j.bytes) {
		j.image.Free()
		return nil
	}
	for _, p := range captures {
		if p != nil {
			p.Retain()
		}
		j.captures = append(j.captures, p)
	}
	j.path = filepath.Join(d.o.Dir, fileName(time.Now()))
	d.pending.Add(1)
	d.jobs <- j // of this goroutine alone, so that there is room
	return nil
}

// fileName is that of a file that is begun at a time.
func fileName(at time.Time) string { return fmt.Sprintf("%016x%s", at.UnixNano(), fileSuffix) }

// settle lets go of what has been written. It is called on the MLX thread.
func (d *Store) settle() {
	d.mu.Lock()
	done := d.done
	d.done = nil
	d.mu.Unlock()
	for _, j := range done {
		j.image.Free()
		for i, p := range j.captures {
			if p == nil {
				continue
			}
			if j.err == nil && j.header.Spans[i] != nil {
				p.Store(stored{j.path, d.o.Key, i})
			}
			p.Release()
		}
	}
}

// flush waits until everything is written, and settles.
func (d *Store) flush() {
	d.pending.Wait()
	d.settle()
}

// Close ends the store, behind the tries that use it.
func (d *Store) Close() { close(d.jobs) }

// A found file is one of the key.
type found struct {
	header
	path string
}

// files returns what scan does; the first time it has been done meanwhile.
func (d *Store) files() []found {
	if d.found == nil {
		return d.scan()
	}
	list := <-d.found
	d.found = nil
	return list
}

// scan reads the headers of the folder's files, and returns those of the key,
// edges that begin early first. What is left of files that were being written
// is deleted; damaged ones are left out.
func (d *Store) scan() (list []found) {
	entries, err := os.ReadDir(d.o.Dir)
	if err != nil {
		d.fail(err)
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(d.o.Dir, e.Name())
		if strings.HasSuffix(e.Name(), partSuffix) && e.Name() < d.first {
			os.Remove(path)
		}
		if !strings.HasSuffix(e.Name(), fileSuffix) {
			continue
		}
		x, err := openFile(path, d.o.Key)
		if err != nil {
			d.o.Logger.Debug("a checkpoint is left out", "error", err)
			continue
		}
		list = append(list, found{x.header, path})
		x.close()
	}
	slices.SortStableFunc(list, func(a, b found) int { return a.From - b.From })
	return list
}
