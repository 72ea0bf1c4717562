package lab

import (
	"context"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// A textReading reads one text in chunks, so that its caches can be measured in between.
type textReading struct {
	thread *mlx.Thread
	model  lm.Model
	caches cache.Stack
}

// newReading begins an empty text. The caller releases its caches.
func newReading(t *mlx.Thread, m lm.Model, o cache.Options) *textReading {
	return &textReading{t, m, m.NewCaches(o)}
}

// read continues to the end of a text that begins with what was read.
func (r *textReading) read(ctx context.Context, text []int32) error {
	for at := r.caches[0].Offset(); at < len(text); at = r.caches[0].Offset() {
		chunk := text[at:min(at+cache.MaxChunk, len(text))]
		err := r.thread.Do(ctx, func(s *mlx.Scope) error {
			r.forward(s, chunk, at)
			return s.Eval(r.caches.Arrays()...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forward builds the forward of a chunk at a position, with what is to be recorded of it.
func (r *textReading) forward(s *mlx.Scope, chunk []int32, at int) *mlx.Array {
	n := len(chunk)
	return r.model.Forward(s, lm.Batch{{Tokens: mlx.New(s, chunk, n), N: n, Pos: at,
		Caches: r.caches}}, nil).Hidden
}

// attendedOwn returns how many own rows the last query attended in the bounded layer that attends
// the most, counted in the masks.
func (r *textReading) attendedOwn(ctx context.Context) (most int, err error) {
	for _, c := range r.caches {
		own, ok := c.(*cache.SinkWindow)
		if !ok {
			continue
		}
		err := r.thread.Do(ctx, func(s *mlx.Scope) error {
			mask := own.View(s, 1).Mask
			if err := s.Err(); err != nil {
				return err
			}
			seen := s.Sum(s.AsType(mask, mlx.Int32), -1, false)
			if err := s.Eval(append(r.caches.Arrays(), seen)...); err != nil {
				return err
			}
			n, err := mlx.Read[int32](s, seen)
			if err == nil {
				most = max(most, int(n[0]))
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return most, nil
}
