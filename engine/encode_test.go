package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/engine/enginetest"
	"tandem/engine/lm"
)

// readTable is a table whose rows, the hidden states of its chain, all differ.
func readTable(v int) [][]float32 {
	table := make([][]float32, v)
	for i := range table {
		table[i] = make([]float32, v)
		for j := range table[i] {
			table[i][j] = float32(i*v+j) / 7
		}
	}
	return table
}

// readTexts20 returns more texts than fit into one forward, some longer than a chunk of 8.
func readTexts20() (texts [][]int32) {
	for i := range 70 {
		text := make([]int32, 1+i*i%21)
		for j := range text {
			text[j] = int32((i + 3*j) % 20)
		}
		texts = append(texts, text)
	}
	return texts
}

// TestEncodesDoNotDependOnCompany expects the same row for a text, whatever texts are read with
// it. No forward is larger than a chunk.
func TestEncodesDoNotDependOnCompany(t *testing.T) {
	table, texts := readTable(20), readTexts20()
	f := newFixture(t, table, Options{Chunk: 8})
	before := f.thread.Memory().Active
	row := func(text []int32, what EncodeRequest) []float32 {
		out := make([]float32, 20)
		switch {
		case what.Logits != nil:
			out = out[:0]
			for _, id := range what.Logits {
				out = append(out, table[text[len(text)-1]][id])
			}
		case what.Pooling == lm.PoolLast:
			copy(out, table[text[len(text)-1]])
		case what.Pooling == lm.PoolFirst:
			copy(out, table[text[0]])
		default:
			for j := range out {
				sum := 0.0
				for _, id := range text {
					sum += float64(table[id][j])
				}
				out[j] = float32(sum / float64(len(text)))
			}
		}
		return out
	}
	for _, what := range []EncodeRequest{{Pooling: lm.PoolLast}, {Pooling: lm.PoolFirst},
		{Pooling: lm.PoolMean}, {Logits: []int32{7, 2, 7}}} {
		f.chain.Forwards = nil
		what.Sequences = texts
		var reported []int
		what.Progress = func(done int) { reported = append(reported, done) }
		rows, stats, err := f.Encode(t.Context(), what)
		if err != nil || len(rows) != len(texts) {
			t.Fatalf("%s %v: %d rows, %v", what.Pooling, what.Logits, len(rows), err)
		}
		tokens := 0
		for i, text := range texts {
			tokens += len(text)
			if want := row(text, what); !slices.Equal(rows[i], want) {
				t.Errorf("%s %v: text %d gives %v, want %v",
					what.Pooling, what.Logits, i, rows[i], want)
			}
		}
		if stats.PromptTokens != tokens {
			t.Errorf("%s %v: stats.PromptTokens = %v, want %v", what.Pooling, what.Logits, stats.PromptTokens, tokens)
		}
		if stats.Finish != FinishStop {
			t.Errorf("%s %v: stats.Finish = %v, want %v", what.Pooling, what.Logits, stats.Finish, FinishStop)
		}
		if stats.Prefill <= 0 {
			t.Errorf("%s %v: stats.Prefill = %v, want more than 0", what.Pooling, what.Logits, stats.Prefill)
		}
		if stats.Total < stats.Prefill {
			t.Errorf("%s %v: stats.Total = %v, want at least %v", what.Pooling, what.Logits, stats.Total, stats.Prefill)
		}
		if reported[0] != 0 {
			t.Errorf("%s %v: reported[0] = %v, want 0", what.Pooling, what.Logits, reported[0])
		}
		if reported[len(reported)-1] != tokens {
			t.Errorf("%s %v: reported[len(reported)-1] = %v, want %v", what.Pooling, what.Logits, reported[len(reported)-1], tokens)
		}
		if !slices.IsSorted(reported) {
			t.Errorf("%s %v: reported = %v, want it in order", what.Pooling, what.Logits, reported)
		}
		alone := 0
		for _, rows := range f.chain.Forwards {
			n := 0
			for _, r := range rows {
				n += r
			}
			if n > 8 || len(rows) > batchSequences {
				t.Errorf("a forward has rows %v", rows)
			}
			if len(rows) == 1 && n < 8 {
				alone++
			}
		}
		if len(f.chain.Forwards) > 120 || alone > 60 {
			t.Errorf("%d forwards, %d of them nearly empty: short texts do not share forwards",
				len(f.chain.Forwards), alone)
		}
	}
	// A hundred texts of one token share forwards: each takes as many as fit.
	f.chain.Forwards = nil
	many := slices.Repeat([][]int32{{5}}, 100)
	f.scheduler.encoder.chunk = 512
	if _, _, err := f.Encode(t.Context(), EncodeRequest{Sequences: many, Pooling: lm.PoolLast}); err != nil ||
		len(f.chain.Forwards) != 4 || len(f.chain.Forwards[0]) != batchSequences {
		t.Errorf("%v, %d forwards", err, len(f.chain.Forwards))
	}
	if after := f.thread.Memory().Active; after != before {
		t.Errorf("%d bytes are left in MLX", after-before)
	}
}

func TestInvalidReadingsAreRefused(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(8), Options{ContextLength: 16})
	for _, c := range []struct {
		r    EncodeRequest
		code Code
		text string
	}{
		{EncodeRequest{Pooling: lm.PoolLast}, CodeInvalid, "1 to 2048 texts, not 0"},
		{EncodeRequest{Pooling: lm.PoolLast, Sequences: make([][]int32, 2049)}, CodeInvalid, "not 2049"},
		{EncodeRequest{Pooling: lm.PoolLast, Sequences: [][]int32{{1}, {}}}, CodeInvalid, "text 1 is empty"},
		{EncodeRequest{Pooling: lm.PoolLast, Sequences: [][]int32{{1}, {2, 8}}}, CodeInvalid, "token 1 of text 1 has id 8"},
		{EncodeRequest{Pooling: lm.PoolLast, Sequences: [][]int32{{-1}}}, CodeInvalid, "id -1"},
		{EncodeRequest{Pooling: lm.PoolLast, Sequences: [][]int32{make([]int32, 17)}}, CodeContextLength, "maximum context length is 16 tokens. However, text 0 has 17 tokens"},
		{EncodeRequest{Pooling: "max", Sequences: [][]int32{{1}}}, CodeInvalid, `"max"`},
		{EncodeRequest{Logits: []int32{8}, Sequences: [][]int32{{1}}}, CodeInvalid, "token 8"},
	} {
		_, stats, err := f.Encode(t.Context(), c.r)
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != c.code ||
			!strings.Contains(e.Message, c.text) || stats.Err != err {
			t.Errorf("got %v, want %s with %q", err, c.code, c.text)
		}
	}
	if f.chain.Forwards != nil {
		t.Error("a refused reading was evaluated")
	}
}

// TestEncodeSharesTheDevice expects that an answer goes on between the chunks of an encode request. A
// prompt takes turns with the encode request.
func TestEncodeSharesTheDevice(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{Chunk: 16})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := make(chan struct{})
	answered := make(chan error, 1)
	go func() {
		n := 0
		var last error
		for _, err := range f.Generate(ctx, Request{Prompt: []int32{0},
			Speculation: Speculation{Drafter: None}}) {
			if n++; n == 3 {
				close(running)
			}
			last = err
		}
		answered <- last
	}()
	<-running
	read := make(chan error, 1)
	go func() {
		_, _, err := f.Encode(t.Context(), EncodeRequest{Sequences: [][]int32{make([]int32, 160)},
			Pooling: lm.PoolMean})
		read <- err
	}()
	// Only the prompt's last chunk has another number of rows.
	if err := drain(f, t.Context(), Request{Prompt: make([]int32, 64),
		MaxTokens: new(0)}); err != nil {
		t.Error(err)
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	chunks, last := 0, -1
	for i, rows := range f.chain.Forwards {
		if rows[0] != 16 {
			continue
		}
		if chunks++; last >= 0 && i == last+1 {
			t.Errorf("no step of the answer between forward %d and %d", last, i)
		}
		last = i
	}
	if chunks != 14 {
		t.Errorf("%d chunks of prompt and reading, want 14", chunks)
	}
}

// TestLongPromptAndLongReadingTakeTurns expects that neither waits for the other's end. A short
// encode request passes both.
func TestLongPromptAndLongReadingTakeTurns(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(50), Options{Chunk: 16})
	started, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	done := make(chan string, 3)
	begin := func(name string, f func() error) {
		go func() {
			if err := f(); err != nil {
				t.Error(err)
			}
			done <- name
		}()
	}
	begin("reading", func() error {
		_, _, err := f.Encode(t.Context(), EncodeRequest{Sequences: [][]int32{make([]int32, 320)},
			Pooling: lm.PoolLast})
		return err
	})
	<-started
	begin("prompt", func() error {
		return drain(f, t.Context(), Request{Prompt: make([]int32, 15*4), MaxTokens: new(0)})
	})
	begin("short", func() error {
		_, _, err := f.Encode(t.Context(), EncodeRequest{Sequences: [][]int32{make([]int32, 3)},
			Pooling: lm.PoolLast})
		return err
	})
	f.waitQueued(2)
	close(release)
	for _, want := range []string{"short", "prompt", "reading"} {
		if got := <-done; got != want {
			t.Errorf("%s has ended, want %s", got, want)
		}
	}
	if at := slices.IndexFunc(f.chain.Forwards,
		func(rows []int) bool { return rows[0] == 3 }); at < 1 || at > 4 {
		t.Errorf("the short reading came in forward %d", at)
	}
}

// TestEncodeEndsWithinOneRound ends encode requests by a cancel, a close and a failure. They leave no
// memory in use.
func TestEncodeEndsWithinOneRound(t *testing.T) {
	text := [][]int32{make([]int32, 40)}
	for _, c := range []struct {
		name string
		on   func(f *fixture, cancel context.CancelFunc)
		is   func(error) bool
	}{
		{"cancelled", func(_ *fixture, cancel context.CancelFunc) { cancel() }, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"failed", func(*fixture, context.CancelFunc) { panic("broken") }, func(err error) bool {
			e, ok := errors.AsType[*Error](err)
			return ok && e.Code == CodeInternal
		}},
		{"closed", func(f *fixture, _ context.CancelFunc) {
			go f.Close()
			enginetest.Await(f.t, "the queue is closed", f.queue.isClosed)
		}, func(err error) bool { return err == errClosed }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, enginetest.Cycle(30), Options{Chunk: 4})
			before := f.thread.Memory().Active
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			forwards := 0
			f.chain.OnForward = func(n int) {
				if forwards = n; n == 3 {
					c.on(f, cancel)
				}
			}
			rows, stats, err := f.Encode(ctx, EncodeRequest{Sequences: text, Pooling: lm.PoolMean})
			if !c.is(err) || rows != nil || stats.Err != err || stats.Finish != "" {
				t.Errorf("%d rows, %v, %+v", len(rows), err, stats)
			}
			if forwards > 3 {
				t.Errorf("forward %d ran, the end came in forward 3", forwards)
			}
			if after := f.thread.Memory().Active; after != before {
				t.Errorf("%d bytes are left in MLX", after-before)
			}
			f.chain.OnForward = nil
			_, _, err = f.Encode(t.Context(), EncodeRequest{Sequences: text, Pooling: lm.PoolMean})
			if want := c.name == "closed"; (err != nil) != want {
				t.Errorf("the next reading: %v", err)
			}
		})
	}
}

// TestEncodesShareTheQueueWithRequests expects that encode requests wait in one queue with requests, by
// the same rules.
func TestEncodesShareTheQueueWithRequests(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Queue: 2, Active: 1})
	started, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	read := func(ctx context.Context, n int) error {
		_, _, err := f.Encode(ctx, EncodeRequest{Sequences: [][]int32{make([]int32, n)}, Pooling: lm.PoolLast})
		return err
	}
	done := make(chan error, 3)
	go func() { done <- read(t.Context(), 1) }()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() { cancelled <- read(ctx, 5) }()
	go func() { done <- drain(f, t.Context(), Request{Prompt: []int32{0}, MaxTokens: new(2)}) }()
	f.waitQueued(2)
	for _, err := range []error{read(t.Context(), 1),
		drain(f, t.Context(), Request{Prompt: []int32{0}})} {
		if err != errQueueFull {
			t.Errorf("beyond the queue: %v", err)
		}
	}
	cancel()
	close(release)
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in the queue: %v", err)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, rows := range f.chain.Forwards {
		if rows[0] == 5 {
			t.Error("the cancelled reading was evaluated")
		}
	}
}

// TestEncodesCountTowardsTheRoom expects that the bytes that an encode request may come to hold count
// towards the room, like the text of a request.
func TestEncodesCountTowardsTheRoom(t *testing.T) {
	f := newFixture(t, enginetest.Cycle(30), Options{Chunk: 4,
		SequenceBytes: func(n int) int64 { return int64(n) }, Room: 100})
	var order []string
	started, release := make(chan struct{}), make(chan struct{})
	f.chain.OnForward = func(n int) {
		if n == 0 {
			close(started)
			<-release
		}
	}
	done := make(chan error, 3)
	read := func(name string, n int) {
		_, _, err := f.Encode(t.Context(), EncodeRequest{Sequences: [][]int32{make([]int32, n)},
			Pooling: lm.PoolLast, Progress: func(done int) {
				if done == n {
					order = append(order, name)
				}
			}})
		done <- err
	}
	go read("large", 80)
	<-started
	go read("too large beside it", 30)
	f.waitQueued(1)
	go read("after it", 8)
	f.waitQueued(2)
	close(release)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := fmt.Sprint(order); got != "[large after it too large beside it]" {
		t.Errorf("readings ended in the order %s", got)
	}
}

// TestMeanDoesNotDependOnChunks expects the same mean for any chunk size. Sums in float32 fail it,
// since they depend on their order.
func TestMeanDoesNotDependOnChunks(t *testing.T) {
	table := readTable(20)
	for i := range table {
		for j := range table[i] {
			table[i][j] = float32(math.Exp(float64((i*7+j)%40) - 20))
		}
	}
	text := make([]int32, 300)
	for i := range text {
		text[i] = int32(i * i % 20)
	}
	var want []float32
	for _, chunk := range []int{512, 1, 7, 64} {
		f := newFixture(t, table, Options{Chunk: chunk})
		rows, _, err := f.Encode(t.Context(), EncodeRequest{Sequences: [][]int32{text}, Pooling: lm.PoolMean})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = rows[0]
		}
		if !slices.Equal(rows[0], want) {
			t.Errorf("chunks of %d: %v, want %v", chunk, rows[0], want)
		}
	}
}
