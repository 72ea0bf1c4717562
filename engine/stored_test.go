package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
)

func newStore(t *testing.T, dir string) *checkpoint.Store {
	store := checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "k", Budget: 1 << 30})
	t.Cleanup(store.Close) // after the engines that are made later
	return store
}

// written returns once the store has written everything. A goroutine writes, and nothing tells that
// it has nothing left to write.
func written(store *checkpoint.Store) {
	for store.Busy() {
		time.Sleep(time.Millisecond)
	}
}

func storedFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// storedEnds returns how far the texts in a folder's files go, ascending.
func storedEnds(t *testing.T, dir string) (ends []int) {
	t.Helper()
	for _, path := range storedFiles(t, dir) {
		text, err := checkpoint.ReadTokens(path)
		if err != nil {
			t.Error(err)
		}
		ends = append(ends, len(text))
	}
	slices.Sort(ends)
	return ends
}

// A diary is a cache that notes the captures that it was asked for.
type diary struct {
	cache.Attention
	asked map[int]bool
}

func (d *diary) Schedule(from int, offsets ...int) error {
	for _, at := range offsets {
		d.asked[at] = true
	}
	return d.Attention.Schedule(from, offsets...)
}

// TestAnswersAreCaptured expects captures of a growing answer in two cases: a layer can be restored
// nowhere else, or the captures go to disk. An answer that the program's end cuts off goes on from
// the last capture.
func TestAnswersAreCaptured(t *testing.T) {
	const prompt, killed = 30, 800
	script := counting(0, 4000)
	schedule := []int{prompt - 1} // from where the same prompt goes on
	for _, n := range []int{64, 128, 192, 256, 320, 384, 448, 512, 768, 1024, 1280, 1536, 1792,
		2048, 3072} {
		schedule = append(schedule, prompt+n)
	}
	before := func(end int) []int { return schedule[:sort.SearchInts(schedule, end)] }
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, stored := range []bool{false, true} {
			for _, c := range []struct {
				length int
				way    Speculation
			}{
				{900, Speculation{Drafter: None}},
				{3200, Speculation{Depth: new(15), Rollback: Trim}},
				{900, Speculation{Depth: new(15), Rollback: Undo}},
			} {
				t.Run(fmt.Sprintf("%s, stored %v, %s %s",
					layout, stored, c.way.Drafter, c.way.Rollback), func(t *testing.T) {
					d := &enginetest.Scripted{Text: script, Vocab: 50,
						Wrong: func(round, n int) int { return n - round%3 }}
					opts := Options{Drafters: []draft.Drafter{d}}
					dir, copied := t.TempDir(), t.TempDir()
					if stored {
						opts.Store = newStore(t, dir)
					}
					f := recalling(t, layout, opts)
					asked := map[int]bool{}
					var live cache.Cache
					f.chain.Wrap = func(_ int, c cache.Attention) cache.Attention {
						live = &diary{c, asked}
						return live.(cache.Attention)
					}
					f.chain.OnForward = func(int) {
						if !stored {
							return
						}
						written(opts.Store) // not more than can wait
						if live.Offset() >= prompt+killed && len(storedEnds(t, copied)) == 0 {
							if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
								t.Error(err)
							}
						}
					}
					f.ask(t, Request{Prompt: script[:prompt], MaxTokens: &c.length,
						Speculation: c.way})
					want := before(prompt + c.length)
					if layout == cache.Full && !stored {
						want = want[:1]
					}
					for _, at := range want {
						if !asked[at] {
							t.Errorf("no state was captured at token %d", at)
						}
						delete(asked, at)
					}
					for at := range asked { // one beyond the end, perhaps
						if at < prompt+c.length || len(want) == 1 {
							t.Errorf("a state was captured at token %d, want none there", at)
						}
					}
					if !stored {
						return
					}
					f.Close()
					if got := storedEnds(t, dir); !slices.Equal(got,
						append(slices.Clone(want), prompt+c.length-1)) {
						t.Errorf("texts of %v tokens are on disk, want those of %v and the whole",
							got, want)
					}
					if got := storedEnds(t, copied); !slices.Equal(got, before(prompt+killed)) {
						t.Fatalf("inside the answer texts of %v tokens are on disk", got)
					}
					f = recalling(t, layout, Options{Store: newStore(t, copied)})
					stats, text := f.ask(t, Request{Prompt: script[:prompt+killed],
						MaxTokens: new(20)})
					if stats.CachedTokens != prompt+768 || !slices.Equal(text, script[:len(text)]) {
						t.Errorf("%d tokens were restored, %s", stats.CachedTokens, stats.Miss)
					}
				})
			}
		}
	}
}

// TestRequestInFlightLeavesNothingAfterForget forgets everything while requests are in flight. The
// requests go on. They leave nothing in memory or on disk, so the next request finds nothing.
func TestRequestInFlightLeavesNothingAfterForget(t *testing.T) {
	prompt := counting(0, 100) // four chunks
	for _, layout := range []cache.Layout{cache.Ring, cache.Full} {
		for _, stored := range []bool{false, true} {
			for _, c := range []struct {
				when          string
				forward, more int
			}{{"while the prompt is evaluated", 1, 90}, {"in the answer", 80, 90},
				{"before the last token", 4, 2}} {
				t.Run(fmt.Sprintf("%s, stored %v, %s", layout, stored, c.when), func(t *testing.T) {
					var opts Options
					dir := t.TempDir()
					if stored {
						opts.Store = newStore(t, dir)
					}
					opts.Chunk = 32
					f := recalling(t, layout, opts)
					start := f.thread.Memory().Active
					f.ask(t, Request{Prompt: counting(5, 300), MaxTokens: new(2)})

					first := len(f.chain.Forwards)
					reached, release := make(chan struct{}), make(chan struct{})
					f.chain.OnForward = func(n int) {
						if n == first+c.forward {
							close(reached)
							<-release
						}
					}
					var stats Stats
					answer := make(chan []int32)
					go func() {
						var got []int32
						for tok, err := range f.Generate(context.Background(),
							Request{Prompt: prompt, MaxTokens: &c.more,
								Done: func(s Stats) { stats = s }}) {
							if err != nil {
								t.Error(err)
							}
							got = append(got, tok.ID)
						}
						answer <- got
					}()
					<-reached
					full, forgotten := f.thread.Memory().Active, int64(0)
					failed := make(chan error)
					go func() {
						failed <- f.Forget(func() error {
							forgotten = f.thread.Memory().Active
							if stored && opts.Store.Busy() {
								t.Error("files are being written while they are deleted")
							}
							for _, e := range storedFiles(t, dir) {
								if err := os.Remove(e); err != nil {
									return err
								}
							}
							return nil
						})
					}()
					f.waitForJob()
					close(release)
					if err := <-failed; err != nil {
						t.Error(err)
					}
					if forgotten >= full {
						t.Errorf("%d bytes are active once all is forgotten, %d before",
							forgotten, full)
					}
					if got := <-answer; !slices.Equal(got, counting(0, 100+c.more)[100:]) {
						t.Errorf("the answer is %v", got)
					}
					if stats.File != "" || stats.Filed != 0 {
						t.Errorf("file %q has the first %d tokens", stats.File, stats.Filed)
					}
					if stored {
						written(opts.Store)
					}
					if left := storedEnds(t, dir); len(left) > 0 {
						t.Errorf("texts of %v tokens are on disk", left)
					}
					if n := f.thread.Memory().Active; n != start {
						t.Errorf("%d bytes are active, %d before the first request", n, start)
					}
					if stats, text := f.ask(t,
						Request{Prompt: prompt,
							MaxTokens: new(5)}); stats.Matched+stats.CachedTokens > 0 ||
						!slices.Equal(text, counting(0, 105)) {
						t.Errorf("%d tokens matched, %d were restored",
							stats.Matched, stats.CachedTokens)
					}
				})
			}
		}
	}
}

// A census is an index that knows no files and gets each that a store finds.
type census chan struct{}

func (census) Known() ([]checkpoint.Entry, error)                { return nil, nil }
func (c census) Add(checkpoint.Entry) ([]string, error)          { c <- struct{}{}; return nil, nil }
func (census) Use(checkpoint.Use) error                          { return nil }
func (census) Discard(string, string) error                      { return nil }
func (census) ByWorth() (list, stay []checkpoint.Entry, _ error) { return nil, nil, nil }

// An archive is an index that knows the files that were added.
type archive struct {
	census
	mu      sync.Mutex
	entries []checkpoint.Entry
}

func (a *archive) Known() ([]checkpoint.Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.entries), nil
}

func (a *archive) Add(e checkpoint.Entry) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries = append(a.entries, e)
	return nil, nil
}

// TestCheckpointOfOlderArithmeticIsKeptAgain goes on from a text whose checkpoint is of older
// arithmetic. A new one ends at the same token, though the text has a boundary just before.
func TestCheckpointOfOlderArithmeticIsKeptAgain(t *testing.T) {
	dir, known := t.TempDir(), new(archive)
	ask := func(arithmetic string, r Request) Stats {
		store := checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Budget: 1 << 30,
			Key: checkpoint.NewKey("k", arithmetic), Index: known})
		t.Cleanup(store.Close)
		f := recalling(t, cache.Ring, Options{Store: store})
		r.MaxTokens = new(3)
		stats, _ := f.ask(t, r)
		written(store)
		f.Close()
		return stats
	}
	ask("MLX 1", Request{Prompt: counting(0, 100)})
	stats := ask("MLX 2", Request{Prompt: counting(0, 130), Boundaries: []int{97}})
	if !strings.Contains(stats.Miss, "the first 99 tokens was computed with MLX 1") {
		t.Errorf("the miss is %q", stats.Miss)
	}
	if ends := storedEnds(t, dir); !slices.Equal(ends, []int{97, 99, 99, 129}) {
		t.Errorf("the files end at %v", ends)
	}
}

// TestForgottenFilesAreNotLookedFor deletes files after the store has found them and before the
// first request. That request misses without a search for them.
func TestForgottenFilesAreNotLookedFor(t *testing.T) {
	dir, prompt := t.TempDir(), counting(0, 100)
	f := recalling(t, cache.Ring, Options{Store: newStore(t, dir)})
	f.ask(t, Request{Prompt: prompt, MaxTokens: new(5)})
	f.Close()
	files := storedFiles(t, dir)
	found := make(census, 2*len(files)+8)
	store := checkpoint.NewStore(checkpoint.StoreOptions{Dir: dir, Key: "k", Budget: 1 << 30,
		Index: found})
	t.Cleanup(store.Close)
	f = recalling(t, cache.Ring, Options{Store: store})
	for range files {
		<-found
	}
	if err := f.Forget(func() error {
		for _, path := range storedFiles(t, dir) {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if stats, _ := f.ask(t, Request{Prompt: prompt, MaxTokens: new(5)}); stats.Matched > 0 ||
		stats.Miss != "" {
		t.Errorf("%d tokens matched, %s", stats.Matched, stats.Miss)
	}
}
