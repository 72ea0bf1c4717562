package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/engine"
	"tandem/engine/lm"
)

const (
	endsAfter   = 30 // the fewest tokens before the last one, so that blocks can be laid out
	endsRequest = 2  // the request that is ended: it does not repeat itself
)

// An ending is one way to end a generation at a given token.
type ending struct {
	name   string
	engine *engine.Engine // for end of sequence: of a model with that token; else the run's
	at     int            // index of the token
	stop   []string
	limit  int  // tokens at most
	cancel bool // the client leaves when the token has come
	eos    bool
	want   ended // of plain decoding
}

// ended is an answer and how it ended.
type ended struct {
	losslessAnswer
	text   string
	finish engine.Finish
	row    int // of its last token in the round
}

// same reports whether two answers are equal. With exact, the bits of their log-probabilities count
// too.
func (a ended) same(b ended, exact bool) bool {
	var c losslessCell
	c.compare(b.losslessAnswer, a.losslessAnswer)
	return slices.Equal(a.ids, b.ids) && a.text == b.text && a.finish == b.finish &&
		!(exact && c.differing > 0)
}

// An endingModel has other end-of-sequence tokens.
type endingModel struct {
	lm.Model
	eos []int32
}

func (m endingModel) Config() lm.Config {
	c := m.Model.Config()
	c.EOS = m.eos
	return c
}

// waysToEnd returns the endings, each with the answer of plain decoding. The first call makes them.
func (l *losslessRun) waysToEnd(ctx context.Context) ([]*ending, error) {
	if l.endings != nil {
		return l.endings, nil
	}
	all, err := l.plain(ctx, endsRequest)
	if err != nil {
		return nil, err
	}
	eos := endsAfter
	for eos < len(all.ids) && slices.Contains(all.ids[:eos], all.ids[eos]) {
		eos++
	}
	stop := endsAfter
	for stop < len(all.ids) && !firstText(all.tokens, stop) {
		stop++
	}
	if max(eos, stop) >= len(all.ids) {
		return nil, fmt.Errorf("none of the %d tokens that answer request %d is new after the first %d; there is no token to end at",
			len(all.ids), endsRequest, endsAfter)
	}
	l.endings = []*ending{
		{name: "end of sequence", engine: l.open(endingModel{l.bundle.Model, all.ids[eos : eos+1]}, l.drafter), at: eos, eos: true},
		{name: "stop text", engine: l.engine, at: stop, stop: []string{all.tokens[stop].Text}},
		{name: "limit", engine: l.engine, at: endsAfter, limit: endsAfter + 1},
		{name: "cancel", engine: l.engine, at: endsAfter, cancel: true},
	}
	for _, e := range l.endings {
		if e.want, err = l.endBy(ctx, e, engine.Speculation{Drafter: engine.None,
			Exact: l.exact}); err != nil {
			return nil, err
		}
		if n := len(e.want.ids); n != e.at+1 {
			return nil, fmt.Errorf("plain decoding ended by %s after %d tokens, want %d",
				e.name, n, e.at+1)
		}
	}
	return l.endings, nil
}

// firstText reports whether the text of a token occurs nowhere before it.
func firstText(tokens []engine.Token, at int) bool {
	var before strings.Builder
	for _, t := range tokens[:at] {
		before.WriteString(t.Text)
	}
	text := tokens[at].Text
	return text != "" && strings.Index(before.String()+text, text) == before.Len()
}

// endBy decodes the request until it ends by e.
func (l *losslessRun) endBy(ctx context.Context, e *ending,
	how engine.Speculation) (a ended, err error) {
	r := l.request(endsRequest)
	r.Speculation, r.Stop, r.IgnoreEOS = how, e.stop, !e.eos
	if e.limit > 0 {
		r.MaxTokens = &e.limit
	}
	r.Done = func(s engine.Stats) { a.stats = s }
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	next := 0
	for tok, err := range e.engine.Generate(inner, r) {
		if err != nil {
			if inner.Err() != nil && ctx.Err() == nil {
				break
			}
			return a, err
		}
		a.tokens, a.ids = append(a.tokens, tok), append(a.ids, tok.ID)
		a.text, a.finish = a.text+tok.Text, tok.Finish
		if a.row, next = next, 0; tok.Draft {
			next = a.row + 1
		}
		if e.cancel && len(a.ids) == e.at+1 {
			cancel()
		}
	}
	return a, nil
}

// ends lets generations end on every row of a block, in every way. It counts by row how many ended
// as plain decoding does.
func (l *losslessRun) ends(ctx context.Context, c *losslessCell) error {
	endings, err := l.waysToEnd(ctx)
	if err != nil {
		return err
	}
	all, r, depth := l.known[endsRequest], l.request(endsRequest), c.block-1
	l.drafter.Text = slices.Concat(r.Prompt, all.ids)
	c.ends = make([]int, c.block)
	for _, e := range endings {
		for row := range c.ends {
			accepts := l.layOut(c, e.at, row)
			l.drafter.Wrong = func(round, n int) int {
				if round < len(accepts) {
					return min(accepts[round], n)
				}
				return n
			}
			how := engine.Speculation{Depth: &depth, Rollback: c.rollback, Exact: l.exact}
			got, err := l.endBy(ctx, e, how)
			if err != nil {
				return err
			}
			n := min(len(got.ids), len(all.ids))
			if firstDifference(all.ids[:n], got.ids[:n]) >= 0 {
				r.Speculation = how
				if excused, err := l.excused(ctx, endsRequest, r, all.ids, got.ids); err != nil {
					return err
				} else if excused {
					continue
				}
			}
			if !got.same(e.want, l.exact) || got.row != row {
				c.amiss = errors.Join(c.amiss, fmt.Errorf(
					"end by %s on row %d of %d, %s: it ended on row %d after %d tokens, plain decoding after %d",
					e.name, row, c.block, c.rollback, got.row, len(got.ids), len(e.want.ids)))
				continue
			}
			c.ends[row]++
		}
	}
	return nil
}

// layOut returns how many drafts the first blocks must accept for the token at an index to fall on
// a row. All later blocks accept all their drafts. The prompt gives token 0.
func (l *losslessRun) layOut(c *losslessCell, at, row int) []int {
	// What an undone block carries over may leave no room in an exact block. So a plain round
	// follows each block that rejects a draft.
	plain := 0
	if l.exact && c.rollback == engine.Undo && c.block > engine.ExactRows/2 {
		plain = 1
	}
	first := (at - 2 - plain - row) % c.block
	if plain > 0 && first == c.block-1 { // such a block would reject nothing
		return []int{0, (at - 5 - row) % c.block}
	}
	return []int{first}
}

// Close ends the engines.
func (l *losslessRun) Close() {
	for _, e := range l.endings {
		if e.engine != l.engine {
			e.engine.Close()
		}
	}
	l.engine.Close()
}
