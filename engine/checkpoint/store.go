package checkpoint

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// These bound what waits in memory to be written: the files, and their bytes after the first file.
// Edges beyond that stay in memory only.
const (
	queued      = 16
	queuedBytes = 512 << 20
)

// StoreOptions say where a Store keeps files, and for which model.
type StoreOptions struct {
	Dir     string  // a folder for checkpoints alone, made if missing
	Folder  *Folder // shared by all stores with files there; nil for a single store
	Key     string  // identifies the target and its arithmetic; see NewKey
	Context string  // identifies the drafter whose contexts are kept

	// Index records the files and orders their deletion. If it is nil, the oldest files are deleted
	// first.
	Index Index

	Budget int64 // most bytes of all files of the folder

	// PerDay is the most bytes written in 24 hours, 0 for no bound. After a restart, deleted files
	// no longer count.
	PerDay int64

	Logger *slog.Logger // nil discards

	// Make makes the folder, readable by its owner only; nil is os.MkdirAll.
	Make func(dir string) error
}

// A Store keeps the edges of a trie in files, and returns them after a restart. A goroutine of the
// store writes them, one after the other. If the folder cannot be written or the disk is full, the
// files are not kept and the store logs a warning.
type Store struct {
	o          StoreOptions
	tombstones *tombstones
	jobs       chan *job
	tasks      chan func()    // small tasks for the writer
	stopped    chan struct{}  // closed by the writer
	pending    sync.WaitGroup // jobs
	running    sync.WaitGroup // goroutines of the store
	found      chan []found   // the result of startScan; nil once it is received

	mu      sync.Mutex
	done    []*job
	missing map[string]bool // ids without a file, which nodes may still have
	waiting int64           // bytes of the jobs in memory
	failure string
}

// A job is a file that waits to be written.
type job struct {
	path     string
	header   header
	image    *mlx.TensorImage
	bytes    int64             // of the image
	captures []*cache.Snapshot // of its rows, retained; may be nil
	err      error
}

// NewStore makes a store, and begins to look for files that are there. The caller closes it. A
// folder that cannot be made is not an error here: see Failure.
func NewStore(o StoreOptions) *Store {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Make == nil {
		o.Make = func(dir string) error { return os.MkdirAll(dir, 0o700) }
	}
	d := &Store{o: o, tombstones: new(tombstones), missing: map[string]bool{}, jobs: make(chan *job, queued),
		tasks: make(chan func(), queued), stopped: make(chan struct{})}
	if err := o.Make(o.Dir); err != nil {
		d.fail(err)
	}
	if d.o.Folder == nil {
		d.o.Folder = new(Folder)
	}
	now, last, recent := time.Now(), "", int64(0)
	for _, f := range d.list() {
		if now.Sub(f.date) < day {
			recent += f.bytes
		}
		if id := idOf(f.path); createdAt(id).Before(now.Add(day)) {
			last = max(last, id) // the clock may have been set back
		}
	}
	d.o.Folder.addStore(d, now, last, recent)
	d.startScan()
	d.running.Go(d.write)
	return d
}

const day = 24 * time.Hour

// reserveBytes reports whether bytes more may be queued and written today, and if so counts them.
func (d *Store) reserveBytes(bytes int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting > 0 && d.waiting+bytes > queuedBytes || !d.o.Folder.reserveBytes(bytes, d.o.PerDay) {
		return false
	}
	d.waiting += bytes
	return true
}

// Busy reports whether files wait to be written. It may be called from any goroutine.
func (d *Store) Busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting > 0
}

// Failure returns why files are not kept, or "" while they are. It may be called from any
// goroutine.
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
		d.o.Logger.Warn("checkpoints are not written to disk and end with the program",
			"folder", d.o.Dir, "error", err)
	}
}

// write writes the jobs and runs the tasks, until jobs is closed.
func (d *Store) write() {
	defer close(d.stopped)
	for {
		var j *job
		select {
		case f := <-d.tasks:
			f()
			continue
		case next, open := <-d.jobs:
			if !open {
				return
			}
			j = next
		}
		var bytes int64
		j.err = d.o.Make(d.o.Dir) // another program may have deleted it
		if j.err == nil {
			bytes, j.err = writeFile(j.path, j.header, j.image)
		}
		if j.err == nil {
			j.err = d.add(j.header.entry(j.path, bytes))
		}
		d.mu.Lock()
		d.done = append(d.done, j)
		if j.err == nil {
			d.failure = ""
		} else {
			d.missing[idOf(j.path)] = true
		}
		d.mu.Unlock()
		switch {
		case errors.Is(j.err, ErrForgotten):
		case j.err != nil:
			d.fail(j.err)
		default:
			if err := d.sweep(); err != nil {
				d.o.Logger.Warn("keeping checkpoints within their budget", "error", err)
			}
		}
		d.mu.Lock()
		d.waiting -= j.bytes
		d.mu.Unlock()
		d.pending.Done()
	}
}

// add records a file in the index, and deletes the files that it replaces. If the index answers
// ErrForgotten, add deletes the file itself and returns ErrForgotten.
func (d *Store) add(e Entry) (forgotten error) {
	var obsolete []string
	d.updateIndex("keeping a checkpoint", func(x Index) (err error) {
		if obsolete, err = x.Add(e); errors.Is(err, ErrForgotten) {
			obsolete, forgotten = []string{e.ID}, ErrForgotten
			return nil
		}
		return err
	})
	if err := Delete(d.o.Dir, obsolete); err != nil {
		d.o.Logger.Warn("deleting a checkpoint", "error", err)
	}
	return forgotten
}

// updateIndex calls f with the index and logs its error. Without an index it does nothing.
func (d *Store) updateIndex(what string, f func(Index) error) {
	if d.o.Index == nil {
		return
	}
	if err := f(d.o.Index); err != nil {
		d.o.Logger.Warn("the index of checkpoints", "doing", what, "error", err)
	}
}

// recordUse records in the index that a text was restored from files.
func (d *Store) recordUse(u Use) {
	if d.o.Index == nil || len(u.IDs) == 0 {
		return
	}
	d.enqueue(func() { d.updateIndex("using checkpoints", func(x Index) error { return x.Use(u) }) })
}

// enqueue queues a task for the writer, or discards it if too many wait.
func (d *Store) enqueue(f func()) {
	select {
	case d.tasks <- f:
	default:
	}
}

// isMissing reports whether the file of a node's id is missing.
func (d *Store) isMissing(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.missing[id]
}

// markMissing records that the file of an id is missing.
func (d *Store) markMissing(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missing[id] = true
}

// queueWrite queues the captures of an edge for writing, unless too much waits or was written
// today. h describes the edge. captures has the captures of the target's caches, followed by a
// draft's. It returns the id of the file, or "" if it will not be written. It evaluates arrays of
// s.
func (d *Store) queueWrite(s *mlx.Scope, h header, captures []*cache.Snapshot) (id string, err error) {
	if len(d.jobs) == cap(d.jobs) {
		return "", nil
	}
	h.Key, h.Context = d.o.Key, d.o.Context
	j := &job{header: h}
	var arrays []mlx.NamedArray
	for i, p := range captures {
		if p == nil || p.From() == p.To() {
			j.header.Spans = append(j.header.Spans, nil)
			continue
		}
		k, v := p.Rows(s)
		arrays = append(arrays, mlx.NamedArray{Name: fmt.Sprintf("%d.k", i), Array: k},
			mlx.NamedArray{Name: fmt.Sprintf("%d.v", i), Array: v})
		j.header.Spans = append(j.header.Spans, &span{p.From(), p.To()})
	}
	if s.Err() != nil {
		return "", s.Err()
	}
	if j.image, err = s.Tensors(arrays); err != nil {
		return "", err
	}
	if j.bytes = j.image.Bytes(); !d.reserveBytes(j.bytes) {
		j.image.Free()
		return "", nil
	}
	for _, p := range captures {
		if p != nil {
			p.Retain()
		}
		j.captures = append(j.captures, p)
	}
	id = d.o.Folder.nextID(time.Now())
	j.path = FilePath(d.o.Dir, id)
	d.pending.Add(1)
	d.jobs <- j // only this goroutine sends, so there is room
	return id, nil
}

// releaseWritten releases the captures that have been written. It is called on the MLX thread.
func (d *Store) releaseWritten() {
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

// flush waits until all jobs are written and all tasks are done, and releases what was written.
func (d *Store) flush() {
	d.pending.Wait()
	done := make(chan bool)
	select {
	case d.tasks <- func() { close(done) }:
		select {
		case <-done:
		case <-d.stopped:
		}
	case <-d.stopped:
	}
	d.releaseWritten()
}

// Close ends the store and waits for its goroutines. The tries that use it must be closed before.
func (d *Store) Close() {
	close(d.jobs)
	d.running.Wait()
	d.o.Folder.removeStore(d)
}
