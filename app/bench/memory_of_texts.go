package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"tandem/app/figures"
	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/texts"
)

// memoryOfTexts is the name of the section that measures the drafter memory.
const memoryOfTexts = "memory of texts"

// memoryDepth is how many tokens each round drafts there, at most.
const memoryDepth = 7

// memoryBar is how many times as many tokens a round of the second request gives.
var memoryBar = figures.Bar{Min: 1.3}

// remembered measures what a client's second request gains from what the first one said. The second
// prompt is the first one with another name in it. Each pair is a new client. It then measures
// lookups and updates of a full memory.
func (b *speculation) remembered(ctx context.Context, table func(figures.Table) error) error {
	t := figures.Table{
		Title: memoryOfTexts + ": a client's second request, with another name in its prompt, greedy",
		Columns: []string{"answers", "drafter", "tokens/round, first", "second", "times as many", "low",
			"high", "tokens/verify, first", "second", "same ids", "pairs", "not counted", "at least"},
		Notes: []string{fmt.Sprintf("at most %d drafts in each round; tokens/round counts rounds without drafts too",
			memoryDepth)},
	}
	for _, w := range []memoryTexts{b.texts.again, b.texts.dictatedAgain} {
		for _, drafter := range []string{engine.Auto, draft.Ngram{}.Name()} {
			m := &memoryRow{memoryTexts: w, drafter: drafter}
			if err := m.measure(ctx, b); err != nil {
				return err
			}
			t.Rows = append(t.Rows, m.row())
			if m.wrong > 0 {
				b.wrong = append(b.wrong, fmt.Errorf("%s: %d answers of %s differ from plain decoding",
					memoryOfTexts, m.wrong, drafter))
			}
		}
	}
	if err := table(t); err != nil {
		return err
	}
	full, err := fullMemory(b.bundle.Model.Config().VocabSize, b.texts.words)
	if err != nil {
		return err
	}
	return table(full.table())
}

// memoryTexts are pairs of similar prompts.
type memoryTexts struct {
	name          string
	first, second *Workload
}

// A memoryRow compares first and second requests of clients, with one drafter.
type memoryRow struct {
	memoryTexts
	drafter  string
	pairs    []Pair
	asked    int // pairs
	rejected int // of them, for an answer that is short or loops
	wrong    int // answers that differ from plain decoding
}

// measure asks both requests of each pair, and the second also plainly.
func (m *memoryRow) measure(ctx context.Context, b *speculation) error {
	drafting := &Side{Way: Way{Drafter: m.drafter, Depth: memoryDepth},
		Model: &Dictated{Model: b.Model}}
	drafting.Engine = b.Engines(drafting.Model, []draft.Drafter{draft.Memory{}, draft.Ngram{}})
	defer drafting.Close()
	plain := b.Open(Way{})
	defer plain.Close()
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := texts.NewStore(texts.Options{Dir: dir})
	defer store.Flush()
	for _, i := range m.first.Picks[:min(len(m.first.Picks), b.Pairs)] {
		p := Pair{Index: i}
		owner := texts.Owner{Client: fmt.Sprint(i), Tokenizer: "model"}
		if p.One, err = drafting.answerKnowing(ctx, store, owner, m.first, i); err != nil {
			return err
		}
		if p.Two, err = drafting.answerKnowing(ctx, store, owner, m.second, i); err != nil {
			return err
		}
		want, err := plain.Answer(ctx, m.second, i, Setting{})
		if err != nil {
			return err
		}
		m.asked++
		if !slices.Equal(p.Two.IDs, want.IDs) {
			m.wrong++
		}
		if p.One.Reject() != "" || p.Two.Reject() != "" {
			m.rejected++
			continue
		}
		m.pairs = append(m.pairs, p)
		fmt.Fprintf(b.Log, "\r%s %s %d ", m.name, m.drafter, len(m.pairs))
	}
	fmt.Fprintln(b.Log)
	return nil
}

// answerKnowing continues a prompt with what its client said before, which is in memory by then.
func (s *Side) answerKnowing(ctx context.Context, store *texts.Store, o texts.Owner, w *Workload,
	i int) (Response, error) {
	s.Model.Dictate(w.Prompts[i])
	use := store.Open(o, texts.Origin{})
	defer store.Flush()
	defer use.Close()
	r := s.request(w, i, Setting{})
	r.Texts = use
	return generate(ctx, s.Engine, r)
}

// perRound returns the tokens of a round, including rounds without drafts. The first token is the
// prompt's.
func (a Response) perRound() float64 {
	return float64(len(a.IDs)-1) / float64(max(1, a.Stats.Rounds))
}

func (m *memoryRow) row() []any {
	if len(m.pairs) == 0 {
		return []any{m.name, m.drafter, nil, nil, nil, nil, nil, nil, nil, nil, 0, m.rejected, nil}
	}
	var one, two Response
	var ratios [][]float64
	for _, p := range m.pairs {
		one.add(p.One)
		two.add(p.Two)
		ratios = append(ratios, []float64{p.Two.perRound() / p.One.perRound()})
	}
	e := figures.EstimateOf(ratios)
	var verdict any
	if m.drafter != (draft.Ngram{}).Name() {
		verdict = memoryBar.Judge(e)
	}
	perRound := func(r Response) float64 {
		return float64(len(r.IDs)-len(m.pairs)) / float64(max(1, r.Stats.Rounds))
	}
	return []any{m.name, m.drafter, perRound(one), perRound(two), e.Median, e.Low, e.High,
		figures.OrDash(one.Stats.Blocks.MeanTokens()), figures.OrDash(two.Stats.Blocks.MeanTokens()),
		fmt.Sprintf("%d/%d", m.asked-m.wrong, m.asked), len(m.pairs),
		m.rejected, verdict}
}

// fullTexts are the texts of a full memory, in tokens: each has fullText, the last fullTextReal of
// them of real code.
const (
	fullText     = 2000
	fullTextReal = 500
)

// fullMemory measures a memory of texts.MaxTokens tokens of the vocabulary, as uneven as words are.
// A part of each text is real, and lookups ask for places there.
func fullMemory(vocab int, words []int32) (f fullFigures, err error) {
	dir, err := os.MkdirTemp("", "tandem-bench-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	store := texts.NewStore(texts.Options{Dir: dir})
	o := texts.Owner{Tokenizer: "model"}
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 4, uint64(vocab-1))
	var last []int32
	fill := func(n int) (added time.Duration) {
		for range n / fullText {
			at := rng.IntN(max(1, len(words)-fullTextReal))
			spoken := words[at:min(len(words), at+fullTextReal)]
			last = make([]int32, 0, fullText)
			for len(last) < fullText-len(spoken) {
				last = append(last, int32(zipf.Uint64()))
			}
			last = append(last, spoken...)
			use := store.Open(o, texts.Origin{})
			store.Flush()
			start := time.Now()
			use.Add(texts.Text{Tokens: last})
			store.Flush()
			added += time.Since(start)
			use.Close()
		}
		return added
	}
	fill(texts.MaxTokens)
	const more = 100_000
	f.update = fill(more) / more
	use := store.Open(o, texts.Origin{})
	defer use.Close()
	store.Flush()
	f.lookups = make([]time.Duration, 0, 20_000)
	buffer := make([]int32, 0, draft.MaxDepth)
	for i := range cap(f.lookups) {
		from := words
		if i%2 == 0 || len(words) < 100 {
			from = last
		}
		at := 40 + rng.IntN(len(from)-40)
		start := time.Now()
		buffer, _ = use.Find(from[:at], buffer[:0], draft.MaxDepth, 0)
		f.lookups = append(f.lookups, time.Since(start))
	}
	slices.Sort(f.lookups)
	f.inMemory = float64(use.Bytes()) / texts.MaxTokens
	f.onDisk, err = keptBytes(store)
	return f, err
}

// keptBytes returns the bytes on disk of a token. Error: nothing could be written.
func keptBytes(store *texts.Store) (float64, error) {
	kept, err := store.List()
	if err != nil {
		return 0, err
	}
	if len(kept) == 0 {
		return 0, fmt.Errorf("the memory of texts has no file: make room in %s, and try again",
			os.TempDir())
	}
	return float64(kept[0].Bytes) / float64(kept[0].Tokens), nil
}

// fullFigures are the figures of a full memory.
type fullFigures struct {
	lookups          []time.Duration // in ascending order
	update           time.Duration   // of a token
	inMemory, onDisk float64         // bytes of a token
}

// lookupBar is how many microseconds a lookup, and the update of a token, may take.
var lookupBar = figures.AtMost(20)

func (f fullFigures) table() figures.Table {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	median, late := us(f.lookups[len(f.lookups)/2]), us(f.lookups[len(f.lookups)*99/100])
	verdict := "missed"
	if lookupBar.Met(max(median, us(f.update))) {
		verdict = "met"
	}
	return figures.Table{
		Title: memoryOfTexts + ", full",
		Columns: []string{"tokens", "lookup, us: median", "99 %", "update, us a token",
			"bytes a token", "on disk", "median and update, us"},
		Rows: [][]any{{texts.MaxTokens, median, late, us(f.update), f.inMemory, f.onDisk,
			fmt.Sprintf("%s %s", lookupBar, verdict)}},
		Notes: []string{"an update writes the file too, on a goroutine of its own; a lookup asks for 31 tokens"},
	}
}

func memoryTextsOf(name string, limit int) memoryTexts {
	return memoryTexts{name: name, first: &Workload{Name: name + ", first", Limit: limit},
		second: &Workload{Name: name + ", second", Limit: limit}}
}

// newMemoryTexts returns pairs of prompts: the first half of a function, and the same with another
// name. The answers are the model's, or dictated: the second half.
func newMemoryTexts(list []editText, encode func(string) []int32) (again, dictated memoryTexts) {
	again, dictated = memoryTextsOf("the model's", CodeAnswer), memoryTextsOf("dictated", 2*CodeAnswer)
	for i, e := range list {
		lines := strings.SplitAfter(e.Text, "\n")
		half := len(lines) / 2
		for _, x := range []struct {
			said, free *Workload
			text       func([]string) string
		}{
			{dictated.first, again.first, func(l []string) string { return strings.Join(l, "") }},
			{dictated.second, again.second, func(l []string) string {
				return strings.ReplaceAll(strings.Join(l, ""), e.From, e.To)
			}},
		} {
			ids := encode(x.text(lines[:half]))
			x.free.Prompts = append(x.free.Prompts, Prompt{IDs: ids})
			x.free.Picks = append(x.free.Picks, i)
			x.said.Prompts = append(x.said.Prompts, Prompt{IDs: ids, Script: encode(x.text(lines[half:]))})
			x.said.Picks = append(x.said.Picks, i)
		}
	}
	return again, dictated
}
