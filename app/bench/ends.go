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
	endsBehind  = 30 // tokens come before the last one at least, so that blocks can be laid out
	endsRequest = 2  // the request that is ended: it does not repeat itself
)

// An ending is a way for a generation to end, at one token.
type ending struct {
	name   string
	engine *engine.Engine // of a model whose end-of-sequence token that is, or as others
	at     int            // index of the token
	stop   []string
	limit  int  // tokens at most
	cancel bool // as soon as the token is there
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

// same reports whether two answers are, and their log-probabilities to the bit if
// exact.
func (a ended) same(b ended, exact bool) bool {
	var c losslessCell
	c.compare(b.losslessAnswer, a.losslessAnswer)
	return slices.Equal(a.ids, b.ids) && a.text == b.text && a.finish == b.finish && !(exact && c.differing > 0)
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

// waysToEnd returns the endings, and plain decoding's answers with them.
func (l *losslessRun) waysToEnd(ctx context.Context) ([]*ending, error) {
	if l.endings != nil {
		return l.endings, nil
	}
	all, err := l.plain(ctx, endsRequest)
	if err != nil {
		return nil, err
	}
	eos := endsBehind
	for eos < len(all.ids) && slices.Contains(all.ids[:eos], all.ids[eos]) {
		eos++
	}
	stop := endsBehind
	for stop < len(all.ids) && !firstText(all.tokens, stop) {
		stop++
	}
	if max(eos, stop) >= len(all.ids) {
		return nil, fmt.Errorf("request %d is answered with %d tokens of which none behind the first %d is new: there is nothing to end it with", endsRequest, len(all.ids), endsBehind)
	}
	l.endings = []*ending{
		{name: "end of sequence", engine: l.open(endingModel{l.bundle.Model, all.ids[eos : eos+1]}, l.drafter), at: eos, eos: true},
		{name: "stop text", engine: l.engine, at: stop, stop: []string{all.tokens[stop].Text}},
		{name: "limit", engine: l.engine, at: endsBehind, limit: endsBehind + 1},
		{name: "cancel", engine: l.engine, at: endsBehind, cancel: true},
	}
	for _, e := range l.endings {
		if e.want, err = l.endBy(ctx, e, engine.Speculation{Drafter: engine.None, Exact: l.exact}); err != nil {
			return nil, err
		}
		if n := len(e.want.ids); n != e.at+1 {
			return nil, fmt.Errorf("by %s plain decoding ends with %d tokens, not with %d", e.name, n, e.at+1)
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

// endBy answers the request until it ends.
func (l *losslessRun) endBy(ctx context.Context, e *ending, how engine.Speculation) (a ended, err error) {
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

// ends has generations end on every row of a block, in every way, and counts by row
// those that did as plain decoding does.
func (l *losslessRun) ends(ctx context.Context, c *losslessCell) error {
	endings, err := l.waysToEnd(ctx)
	if err != nil {
		return err
	}
	all, r, depth := l.known[endsRequest], l.request(endsRequest), c.block-1
	l.drafter.text = slices.Concat(r.Prompt, all.ids)
	c.ends = make([]int, c.block)
	for _, e := range endings {
		for row := range c.ends {
			accepts := l.layOut(c, e.at, row)
			l.drafter.wrong = func(round, n int) int {
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
			if n := min(len(got.ids), len(all.ids)); parts(all.ids[:n], got.ids[:n]) >= 0 {
				r.Speculation = how
				if excused, err := l.excused(ctx, endsRequest, r, all.ids, got.ids); err != nil {
					return err
				} else if excused {
					continue
				}
			}
			if !got.same(e.want, l.exact) || got.row != row {
				c.amiss = errors.Join(c.amiss, fmt.Errorf("by %s to fall on row %d of %d, %s: ended on row %d with %d tokens, plainly with %d", e.name, row, c.block, c.rollback, got.row, len(got.ids), len(e.want.ids)))
				continue
			}
			c.ends[row]++
		}
	}
	return nil
}

// layOut returns how many drafts the first blocks have to accept, of all others being
// whole, for the token at an index to fall on a row. The prompt gives token 0.
func (l *losslessRun) layOut(c *losslessCell, at, row int) []int {
	// What an undone block carries over may leave no room in an exact one: a plain
	// round comes behind each that rejects anything.
	behind := 0
	if l.exact && c.rollback == engine.Undo && c.block > engine.ExactRows/2 {
		behind = 1
	}
	first := (at - 2 - behind - row) % c.block
	if behind > 0 && first == c.block-1 { // that one would reject nothing
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
