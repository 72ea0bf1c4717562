package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/storage/disk"
)

const (
	// DefaultEndpoint is the public hub.
	DefaultEndpoint = "https://huggingface.co"

	parallel     = 4 // files at a time
	defaultStall = 30 * time.Second
)

// Options of [Pull]. CacheDir must be set; the zero value of all others is useful.
type Options struct {
	CacheDir string       // the folder that holds models--ORG--NAME
	Endpoint string       // DefaultEndpoint if empty
	Token    string       // sent to the endpoint's host, never to another
	Client   *http.Client // http.DefaultClient if nil; its Timeout and CheckRedirect are not used
	Offline  bool         // use what is on disk, or fail
	Logger   *slog.Logger // discards if nil

	// FreeSpace returns the free bytes on the disk of a folder. If nil, the system is asked.
	FreeSpace func(dir string) (bytes int64, _ error)

	// Stall is the time without a byte after which a request ends; 30 s if 0.
	Stall time.Duration

	// Check is called before weights are fetched. It gets the files of the model; reading weights
	// beyond their headers fails. An error ends the pull with that error. It is not called if all
	// weights are on disk. May be nil. of is nil for a model that is not a GGUF file.
	Check func(files fs.FS, of *GGUF) error

	// Existing lists GGUF files that the caller has from other revisions. Of several files of one
	// quantization, the one with the same name is chosen.
	Existing []string

	// Began is called with each blob that this pull begins, before its first byte is written. It is
	// not called for blobs that the pull continues. May be nil.
	Began func(blob string)

	write func(f *os.File, p []byte) (int, error) // (*os.File).Write if nil; tests fill the disk
}

// A pull is one call of Pull.
type pull struct {
	name       string     // as the caller gave it
	choice     fileChoice // which GGUF files the name asks for
	gguf       *GGUF      // the GGUF files to fetch; nil for a model in another form
	repo       repo
	client     client
	meter      *meter
	commit     string
	write      func(f *os.File, p []byte) (int, error)
	began      func(blob string)
	checkFiles func(files fs.FS, of *GGUF) error
	free       func(dir string) (int64, error)

	written atomic.Int64 // bytes since free was last asked
}

// A Snapshot is one commit of a model, complete in the cache.
type Snapshot struct {
	Dir    string // the folder of config.json
	Commit string
	Added  bool // the pull added files to it; false if all existed

	// GGUF says which of several GGUF files the model is. It is nil for a model in another form.
	GGUF *GGUF

	// Unchecked says why the hub could not tell whether the revision has moved on. It is nil if the
	// hub answered, and if Options.Offline is set.
	Unchecked error
}

// Pull makes a model of the hub complete on disk and returns its snapshot. name is org/name or
// org/name@revision; a name without org is refused before the hub is asked. From a repository with
// GGUF files, org/name:Q4_K_M fetches the one of that quantization. Without a quantization it
// fetches the usual one, see [GGUF].
//
// Files in the cache are not fetched again, even if another program fetched them. Files that an
// earlier pull left half done are continued. If the hub cannot be reached and the revision is
// complete on disk, Pull returns that snapshot with Unchecked set. progress may be nil. It is called
// from one goroutine, at most ten times a second, and for the last time before Pull returns.
//
// Cancelling ctx ends the pull with ctx's error and keeps what has arrived. Failures that may pass
// are tried again after growing pauses, up to eight times in a row without a byte gained. Codes of
// errors: [Invalid], [BadOption], [NotFound], [Gated], [Unsupported], [Unsafe], [Offline],
// [RateLimited], [Unavailable], [BadReply], [Truncated], [HashMismatch], [DiskFull], [Disk].
func Pull(ctx context.Context, name string, opts Options,
	progress func(Progress)) (Snapshot, error) {
	id, revision, err := ParsePull(name)
	if err != nil {
		return Snapshot{}, err
	}
	if opts.CacheDir == "" {
		return Snapshot{}, errorf(BadOption, name, "no cache folder is set")
	}
	_, err = disk.Stat(opts.CacheDir)
	if silent, ok := errors.AsType[*disk.SilentError](err); ok {
		return Snapshot{}, diskError(name, silent)
	}
	if opts.Offline {
		dir, g, err := resolve(opts.CacheDir, name, opts.Existing)
		if err != nil {
			return Snapshot{}, offlineError(name, opts.CacheDir, err)
		}
		return Snapshot{Dir: dir, Commit: filepath.Base(dir), GGUF: g}, nil
	}
	c, err := newClient(name, id, opts)
	if err != nil {
		return Snapshot{}, err
	}
	_, quantization := CutQuantization(name)
	p := &pull{
		name:       name,
		choice:     fileChoice{quantization, opts.Existing},
		repo:       repo{cache: opts.CacheDir, id: id},
		client:     c,
		write:      opts.write,
		checkFiles: opts.Check,
		free:       opts.FreeSpace,
	}
	if p.write == nil {
		p.write = (*os.File).Write
	}
	if p.free == nil {
		p.free = freeSpace
	}
	return p.runOrAbandon(ctx, revision, opts.Began, progress)
}

// abandonAfter is how long Pull waits for a cancelled pull. It may be in a call to a disk that does
// not answer, which cannot be ended.
const abandonAfter = 2 * time.Second

// diskCheckEvery is how often a pull checks that the disk of the cache still answers.
const diskCheckEvery = 5 * time.Second

// runOrAbandon calls run, but returns before it ends in two cases:
//   - The disk of the cache does not answer any more.
//   - run does not end in time after a cancel.
//
// The callbacks are then no longer called.
func (p *pull) runOrAbandon(ctx context.Context, revision string, began func(string),
	progress func(Progress)) (Snapshot, error) {
	var mu sync.Mutex
	left := false
	call := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		if !left {
			f()
		}
	}
	if began != nil {
		p.began = func(blob string) { call(func() { began(blob) }) }
	}
	if progress != nil {
		report := progress
		progress = func(at Progress) { call(func() { report(at) }) }
	}
	type result struct {
		Snapshot
		error
	}
	done := make(chan result, 1)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		p.meter = newMeter(progress)
		s, err := p.run(inner, revision)
		p.meter.close()
		done <- result{s, err}
	}()
	diskCheck := time.NewTicker(diskCheckEvery)
	defer diskCheck.Stop()
	for ctx.Err() == nil {
		select {
		case r := <-done:
			return r.Snapshot, r.error
		case <-ctx.Done():
		case <-diskCheck.C:
			_, err := disk.Stat(p.repo.cache)
			if silent, ok := errors.AsType[*disk.SilentError](err); ok {
				call(func() { left = true })
				return Snapshot{}, diskError(p.name, silent)
			}
		}
	}
	grace := time.NewTimer(abandonAfter)
	defer grace.Stop()
	select {
	case r := <-done:
		return r.Snapshot, r.error
	case <-grace.C:
		call(func() { left = true })
		return Snapshot{}, ctx.Err()
	}
}

// run makes the model complete.
func (p *pull) run(ctx context.Context, revision string) (Snapshot, error) {
	in, err := p.client.info(ctx, revision, "", p.waiting)
	if err != nil {
		return p.cached(revision, err)
	}
	p.commit = in.commit
	if err := os.MkdirAll(filepath.Join(p.repo.dir(), "blobs"), 0o777); err != nil {
		return Snapshot{}, diskError(p.name, err)
	}
	files, err := p.plan(ctx, in)
	if err != nil {
		return Snapshot{}, err
	}
	if err := p.checkSpace(files); err != nil {
		return Snapshot{}, err
	}
	// The weights come last: the rest may say that they cannot be used.
	before, weights := splitWeights(files)
	if err := p.each(ctx, before, p.fetchCurrent); err != nil {
		return Snapshot{}, err
	}
	if err := p.check(ctx, files); err != nil {
		return Snapshot{}, err
	}
	if err := p.each(ctx, weights, p.fetchCurrent); err != nil {
		return Snapshot{}, err
	}
	added, err := p.publish(files, revision)
	if err != nil {
		return Snapshot{}, diskError(p.name, err)
	}
	return Snapshot{Dir: p.repo.snapshot(p.commit), Commit: p.commit, Added: added,
		GGUF: p.gguf}, nil
}

// cached returns the cache's snapshot of a revision if err says that the hub does not answer, as
// the Python libraries do. Any other error is returned as it is.
func (p *pull) cached(revision string, err error) (Snapshot, error) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != Offline && e.Code != Unavailable && e.Code != RateLimited {
		return Snapshot{}, err
	}
	if commit, _ := p.repo.commit(revision); commit != "" {
		dir := p.repo.snapshot(commit)
		missing, err := missingFiles(dir, p.choice)
		g, noFile := ggufOnDisk(p.name, dir, p.choice)
		if err == nil && len(missing) == 0 && noFile == nil {
			return Snapshot{Dir: dir, Commit: commit, GGUF: g, Unchecked: e}, nil
		}
	}
	name := p.repo.id
	if p.choice.quantization != "" {
		name += ":" + p.choice.quantization
	}
	if dir, _, err := resolve(p.repo.cache, name, p.choice.existing); err == nil {
		hint := *e
		hint.Message += fmt.Sprintf("; with HF_HUB_OFFLINE=1 Tandem takes the revision %s, "+
			"which is complete in the cache", filepath.Base(dir))
		return Snapshot{}, &hint
	}
	return Snapshot{}, err
}

// waiting shows a pause between attempts.
func (p *pull) waiting(d time.Duration, err error) {
	why := err.Error()
	if e, ok := errors.AsType[*Error](err); ok {
		why, _, _ = strings.Cut(e.Message, ": ") // the advice comes when all attempts have failed
	}
	p.meter.setWaiting(fmt.Sprintf("trying again in %s: %s", d.Round(time.Second), why))
}

// present returns the size of a file that is in the snapshot already.
func (p *pull) present(name string) (int64, bool) {
	st, err := disk.Stat(filepath.Join(p.repo.snapshot(p.commit), filepath.FromSlash(name)))
	if err != nil || !st.Mode().IsRegular() {
		return 0, false
	}
	return st.Size(), true
}

// plan chooses the files, and learns hash and size of the missing ones. A file that is in the
// snapshot has no etag. The index is fetched immediately, because it says which weights are the
// model's.
func (p *pull) plan(ctx context.Context, in info) ([]*file, error) {
	var err error
	if p.gguf, err = in.gguf(p.name, p.choice); err != nil {
		return nil, err
	}
	if p.gguf != nil {
		return p.describeAll(ctx, p.gguf.files)
	}
	var index []byte
	if slices.Contains(in.files, indexName) {
		if index, err = p.index(ctx); err != nil {
			return nil, err
		}
	}
	names, err := in.choose(p.name, index)
	if err != nil {
		return nil, err
	}
	return p.describeAll(ctx, names)
}

// describeAll returns the files of these names, with their sizes and hashes from the disk or the hub.
func (p *pull) describeAll(ctx context.Context, names []string) ([]*file, error) {
	files := make([]*file, len(names))
	for i, name := range names {
		files[i] = &file{name: name}
	}
	if err := p.each(ctx, files, p.describe); err != nil {
		return nil, err
	}
	p.meter.plan(files)
	return files, nil
}

// describe fills in the size and the hash of a file from the disk, or else from the hub.
func (p *pull) describe(ctx context.Context, f *file) error {
	f.etag, f.have = "", 0
	if size, ok := p.present(f.name); ok {
		f.size, f.have = size, size
		return nil
	}
	var err error
	if f.etag, f.size, err = p.client.head(ctx, p.commit, f.name, p.waiting); err != nil {
		return err
	}
	if p.repo.has(f) {
		f.have = f.size
	} else if st, err := disk.Stat(p.repo.partial(f.etag)); err == nil && st.Size() <= f.size {
		f.have = st.Size()
	}
	return nil
}

// index returns the content of the index, and fetches it if it is missing.
func (p *pull) index(ctx context.Context) ([]byte, error) {
	f := &file{name: indexName}
	if err := p.each(ctx, []*file{f}, p.describe); err != nil {
		return nil, err
	}
	if f.size > MaxIndexBytes {
		return nil, errorf(Unsupported, p.name, "%s is larger than %d MiB, which no model needs",
			indexName, MaxIndexBytes>>20)
	}
	name := filepath.Join(p.repo.snapshot(p.commit), indexName)
	if f.etag != "" {
		if err := p.fetchCurrent(ctx, f); err != nil {
			return nil, err
		}
		name = p.repo.blob(f.etag)
	}
	data, err := disk.ReadFile(name, MaxIndexBytes)
	if err != nil {
		return nil, diskError(p.name, err)
	}
	return data, nil
}

// splitWeights returns the files to fetch first, and the weights.
func splitWeights(files []*file) (before, weights []*file) {
	for _, f := range files {
		if f.isWeights() {
			weights = append(weights, f)
		} else {
			before = append(before, f)
		}
	}
	return before, weights
}

// each calls f for every file, some at a time. The first error ends the rest and is returned.
func (p *pull) each(ctx context.Context, files []*file,
	f func(context.Context, *file) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *file)
	var workers sync.WaitGroup
	for range min(parallel, len(files)) {
		workers.Go(func() {
			for file := range next {
				if err := f(inner, file); err != nil {
					cancel(err) // the first one counts
				}
			}
		})
	}
feed:
	for _, file := range files {
		select {
		case next <- file:
		case <-inner.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return context.Cause(inner)
}

// fetchCurrent fetches a file that the snapshot lacks. It looks again if the file has changed at
// the hub meanwhile.
func (p *pull) fetchCurrent(ctx context.Context, f *file) error {
	for range 3 {
		if f.etag == "" {
			return nil
		}
		err := p.fetch(ctx, f)
		if !errors.Is(err, errChanged) {
			return err
		}
		if err := p.describe(ctx, f); err != nil {
			return err
		}
	}
	return errorf(BadReply, p.name, "%s changes at the hub while it is fetched: pull again later",
		f.name)
}

// publish makes the links of the snapshot and then the ref. config.json comes last, so that a
// snapshot with it is whole. added reports whether a link is new.
func (p *pull) publish(files []*file, revision string) (added bool, err error) {
	dir := p.repo.snapshot(p.commit)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	last := func(f *file) int {
		if f.name == "config.json" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(files, func(a, b *file) int { return last(a) - last(b) })
	for _, f := range files {
		if f.etag == "" {
			continue
		}
		made, err := p.repo.link(root, f.name, f.etag)
		if err != nil {
			return added, err
		}
		added = added || made
	}
	if err := syncDir(dir); err != nil {
		return added, err
	}
	return added, p.repo.setRef(revision, p.commit)
}
