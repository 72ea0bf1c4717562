package texts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Limits of a store.
const (
	maxOpen   = 4  // memories in the process; another client gets none until a request ends
	maxQueued = 64 // texts that wait to be added; more are discarded
)

// MaxBytes is the memory that the texts of a store take at most, all full.
const MaxBytes = maxOpen * MaxTokens * int64(tokenBytes)

const (
	fileSuffix = ".texts"
	partSuffix = ".part" // of a file that is being written
)

// Options of a Store.
type Options struct {
	Dir    string        // made when the first text is kept, by Make
	Idle   time.Duration // after which a memory that no request uses leaves the process; 0 means never
	Logger *slog.Logger  // nil discards

	// Make makes the folder, readable by its owner only; nil is os.MkdirAll.
	Make func(dir string) error
}

// A Store has the memories of one folder. It is safe for use by several goroutines.
type Store struct {
	o Options

	files sync.Mutex // held while files are read or written; taken before mu

	listing sync.Mutex         // held by List; taken before files
	listed  map[string]listing // by the file's name

	mu      sync.Mutex
	open    map[Owner]*memory
	jobs    []func()
	working bool // a goroutine runs the jobs
	idle    *sync.Cond
	texts   int       // among the jobs
	forgot  time.Time // when Forget was last called
	failing bool      // the last text could not be written, and the log says so
}

// NewStore returns the store of a folder.
func NewStore(o Options) *Store {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Make == nil {
		o.Make = func(dir string) error { return os.MkdirAll(dir, 0o700) }
	}
	s := &Store{o: o, open: map[Owner]*memory{}}
	s.idle = sync.NewCond(&s.mu)
	return s
}

// Open returns the memory of an owner for a request that arrives now. See OpenSince.
func (s *Store) Open(o Owner, from Origin) *Use { return s.OpenSince(o, from, time.Now()) }

// OpenSince returns the memory of an owner for a request, which closes it. from is the origin of
// what the request adds. It adds nothing if Forget was called since it arrived. OpenSince does not
// wait for the file. It returns nil for a nil store, and if maxOpen others are in use.
func (s *Store) OpenSince(o Owner, from Origin, arrived time.Time) *Use {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.open[o]
	if m == nil {
		if !s.closeIdle() {
			s.o.Logger.Debug("a client has no memory of texts: those of others take all the room")
			return nil
		}
		m = &memory{owner: o, path: filepath.Join(s.o.Dir, fileName(o)), unread: true}
		s.open[o] = m
	}
	if m.unread {
		m.unread = false
		s.enqueue(func() { s.load(m) })
	}
	m.users++
	from.Started = from.Started.UTC().Truncate(time.Second)
	return &Use{store: s, memory: m, from: from, arrived: arrived}
}

// closeIdle closes memories without users to make room for another one. It reports whether there is
// room. The caller holds mu.
func (s *Store) closeIdle() bool {
	for len(s.open) >= maxOpen {
		var last *memory
		for _, m := range s.open {
			if m.users == 0 && (last == nil || m.used.Before(last.used)) {
				last = m
			}
		}
		if last == nil {
			return false
		}
		delete(s.open, last.owner)
	}
	return true
}

// fileName returns the name of an owner's file.
func fileName(o Owner) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(o) // a hash accepts everything
	return hex.EncodeToString(h.Sum(nil)[:16]) + fileSuffix
}

// enqueue queues a job for the worker. The caller holds mu.
func (s *Store) enqueue(job func()) {
	s.jobs = append(s.jobs, job)
	if s.working {
		return
	}
	s.working = true
	go func() {
		s.files.Lock()
		s.mu.Lock()
		for len(s.jobs) > 0 {
			next := s.jobs[0]
			s.jobs = s.jobs[1:]
			s.mu.Unlock()
			next()
			s.mu.Lock()
		}
		s.working = false
		s.idle.Broadcast()
		s.mu.Unlock()
		s.files.Unlock()
	}()
}

// Flush waits until everything added is in the memories and on disk.
func (s *Store) Flush() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.working {
		s.idle.Wait()
	}
}

// load reads a memory's file. It is a job. If the file cannot be read, neither it nor the memory
// changes. The next Open tries again.
func (s *Store) load(m *memory) {
	c, err := readFile(m.path, true)
	unread := err != nil && !errors.Is(err, fs.ErrNotExist)
	s.mu.Lock()
	m.unread = unread
	s.mu.Unlock()
	var failed error // to repair it
	switch {
	case unread && m.corpus != nil:
		return
	case unread:
		s.o.Logger.Warn("a memory of texts cannot be read now, and begins without what its file has",
			"file", m.path, "error", err)
	case err == nil && (c.damage != nil || c.owner != m.owner):
		if c.damage == nil {
			c.damage = errors.New("it holds another client's texts")
		}
		if c.owner != m.owner {
			c.list = nil
		}
		s.o.Logger.Warn("a memory of texts is damaged, and begins again after what is good of it",
			"file", m.path, "texts", len(c.list), "error", c.damage)
		failed = writeFile(m.path, m.owner, c.list)
		s.logWriteFailure(failed)
	}
	m.fill(c.list)
	m.damaged = failed != nil
}

// add adds a text to a memory and its file. It is a job.
func (s *Store) add(m *memory, t Text, from Origin) {
	defer func() {
		s.mu.Lock()
		s.texts--
		s.mu.Unlock()
	}()
	if bad := slices.IndexFunc(t.Tokens, func(id int32) bool { return id < 0 }); bad >= 0 {
		t.Tokens = t.Tokens[:bad] // of a model that failed
	}
	r := m.newRecord(t, from)
	if r.Count == 0 {
		return
	}
	m.addRecord(r)
	if m.damaged { // a load stops at the damage, so it would miss the text
		m.unwritten = true
		return
	}
	err := s.o.Make(s.o.Dir)
	var bytes int64
	if err == nil {
		bytes, err = appendFile(m.path, m.owner, r)
	}
	if err != nil {
		m.unwritten = true
	} else if m.kept += r.added(); m.kept > rewriteTokens || bytes > rewriteBytes {
		err = s.shorten(m)
	}
	s.logWriteFailure(err)
}

// shorten rewrites a memory's file with the newest texts.
func (s *Store) shorten(m *memory) error {
	c, err := readFile(m.path, true)
	if err = cmp.Or(err, c.damage); err != nil {
		return err
	}
	list, tokens, bytes := c.list, 0, 0
	for i, r := range slices.Backward(list) {
		tokens += r.added()
		if bytes += r.bytes; tokens > MaxTokens || bytes > rewriteBytes/2 {
			list = list[i+1:]
			break
		}
	}
	m.kept = countTokens(list)
	return writeFile(m.path, m.owner, list)
}

// logWriteFailure logs that a file could not be written, once until one can be written.
func (s *Store) logWriteFailure(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.failing {
		s.o.Logger.Warn("texts are remembered for drafting while their client is there: their file cannot be written",
			"error", err)
	}
	s.failing = err != nil
}
