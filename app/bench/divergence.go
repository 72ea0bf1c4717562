package bench

import (
	"context"
	"fmt"
	"math"

	"tandem/engine"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/sample"
)

// A Divergence is the position at which an answer differs from plain decoding. It is excused where
// rounding decides: both tokens are plain decoding's best two and nearly equal. Rounding depends on
// how many rows are computed together.
type Divergence struct {
	at          int   // index of the token in the answer
	plain, said int32 // tokens

	// Of both tokens; zero if one of the answers ended there.
	logits  [2]float32
	Excused bool
}

func (p Divergence) String() string {
	if p.logits == [2]float32{} {
		return fmt.Sprintf("only one answer goes on at token %d", p.at)
	}
	text := fmt.Sprintf("token %d is %d (logit %.7g), in plain decoding %d (%.7g)", p.at, p.said,
		p.logits[1], p.plain, p.logits[0])
	if p.Excused {
		text += ", excused"
	}
	return text
}

// firstDifference returns the index of the first token that differs, or -1.
func firstDifference(a, b []int32) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// A DivergenceJudge judges divergences.
type DivergenceJudge struct {
	Thread *mlx.Thread
	Model  lm.Model
	Open   func(lm.Model) *engine.Engine // without drafters
}

// Judge returns where an answer diverges from plain decoding's. It repeats plain decoding up to
// there, and draws again with the logit of the plain token a little lower. The divergence is
// excused if that gives the answer's token. This holds for sampled tokens too, because their noise
// stays the same.
func (u DivergenceJudge) Judge(ctx context.Context, r engine.Request,
	plain, said []int32) (Divergence, error) {
	p := Divergence{at: firstDifference(plain, said)}
	if p.at >= min(len(plain), len(said)) {
		return p, nil
	}
	p.plain, p.said = plain[p.at], said[p.at]
	position := len(r.Prompt) + p.at
	w := &watched{Model: u.Model, position: position}
	e := u.Open(w)
	defer e.Close()
	r.Speculation, r.MaxTokens, r.Done = engine.Speculation{Drafter: engine.None}, new(p.at+1), nil
	last := int32(-1)
	for tok, err := range e.Generate(ctx, r) {
		if err != nil {
			return p, err
		}
		last = tok.ID
	}
	return p, u.Thread.Do(ctx, func(s *mlx.Scope) error {
		defer w.logits.Free()
		if last != p.plain || w.logits == nil {
			return fmt.Errorf("plain decoding said %d and then %d as token %d of the same answer",
				p.plain, last, p.at)
		}
		row, err := mlx.Read[float32](s, s.AsType(w.logits, mlx.Float32))
		if err != nil {
			return err
		}
		p.logits = [2]float32{row[p.plain], row[p.said]}
		row[p.plain] = lowered(row[p.plain], w.logits.Dtype())
		m := sample.New(s, r.Sampling, *r.Seed, len(row), r.Prompt)
		defer m.Free()
		second, err := mlx.Read[int32](s, m.Draw(s, mlx.New(s, row, 1, len(row)), nil, position))
		if err == nil {
			p.Excused = second[0] == p.said
		}
		return err
	})
}

// lowered returns a number just below all logits that are nearly equal to the given one. These are
// within 1e-4, or within twice the distance to the next number of the type.
func lowered(logit float32, t mlx.Dtype) float32 {
	digits := map[mlx.Dtype]int{mlx.Float16: 11, mlx.BFloat16: 8}[t]
	if digits == 0 {
		digits = 24
	}
	_, exponent := math.Frexp(float64(logit))
	gap := max(1e-4, 2*math.Ldexp(1, exponent-digits))
	return math.Nextafter32(float32(float64(logit)-gap), float32(math.Inf(-1)))
}

// A watched model keeps the logits of the token at a position.
type watched struct {
	lm.Model
	position int
	end      int        // position after the last row of the last forward
	logits   *mlx.Array // (1, V), kept; nil before that position
}

// Forward implements lm.Model, for one sequence.
func (w *watched) Forward(s *mlx.Scope, b lm.Batch, taps []int) lm.Output {
	w.end = b[0].Pos + b[0].N
	return w.Model.Forward(s, b, taps)
}

// Unembed implements lm.Model, for the last rows of the last forward.
func (w *watched) Unembed(s *mlx.Scope, hidden *mlx.Array) *mlx.Array {
	logits := w.Model.Unembed(s, hidden)
	n := logits.Dim(0)
	if i := w.position - 1 - (w.end - n); i >= 0 && i < n && w.logits == nil {
		w.logits = s.Keep(s.Slice(logits, 0, i, i+1))
	}
	return logits
}
