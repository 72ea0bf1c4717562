package nn

import (
	"math"

	"tandem/engine/mlx"
)

// A Growth multiplies the query of a row at position p by 1 + Beta log(1 + floor(p / Positions)),
// as Llama 4 does: attention over long texts stays as sharp as over short ones.
type Growth struct {
	Beta, Positions float64
}

// check refuses values that no formula has.
func (g *Growth) check() error {
	if g == nil || g.Beta >= 0 && g.Beta <= 100 && g.Positions >= 1 && g.Positions <= MaxPositions {
		return nil
	}
	return Unsupported("config.json: llama_4_scaling_beta %v over %v positions is not supported",
		g.Beta, g.Positions)
}

type growthKey struct {
	Growth
	pos, n int
	dtype  mlx.Dtype
}

// forward scales q (1, Q, n, D), whose rows are at pos, pos+1, ... All layers of a forward share
// the factors.
func (g *Growth) forward(s *mlx.Scope, q *mlx.Array, pos int) *mlx.Array {
	n := q.Dim(2)
	if float64(pos+n) <= g.Positions {
		return q // every factor is 1
	}
	factors := s.Memo(growthKey{*g, pos, n, q.Dtype()}, func() *mlx.Array {
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(1 + g.Beta*math.Log1p(math.Floor(float64(pos+i)/g.Positions)))
		}
		return s.AsType(mlx.New(s, values, n, 1), q.Dtype())
	})
	return s.Mul(q, factors)
}
