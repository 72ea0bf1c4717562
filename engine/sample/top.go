package sample

import (
	"math"

	"tandem/engine/mlx"
)

var negInf = math.Inf(-1)

// atLeastKth marks the k largest elements of each row of x (n, V), bool (n, V). Of equal
// elements at the border the lowest ids are taken, so exactly k are marked.
func atLeastKth(s *mlx.Scope, x *mlx.Array, k int) *mlx.Array {
	v := x.Dim(-1)
	at := s.Slice(s.Argpartition(x, v-k, -1), -1, v-k, v-k+1)
	kth := s.TakeAlong(x, at, -1) // (n, 1)
	above := s.Less(kth, x)
	tied := s.Equal(x, kth)
	room := s.Sub(s.Scalar(float64(k), mlx.Int32), s.Sum(s.AsType(above, mlx.Int32), -1, true))
	rank := s.Cumsum(s.AsType(tied, mlx.Int32), -1)
	return s.Or(above, s.And(tied, s.LessEqual(rank, room)))
}

// descending returns the ids (n, k) int32 of the k largest elements of each row
// of x (n, V), largest first, ties by lower id.
func descending(s *mlx.Scope, x *mlx.Array, k int) *mlx.Array {
	v := x.Dim(-1)
	if k < v {
		// Only the k marked elements stay finite, so the partition has no tie
		// to break; sorting the ids makes the stable sort by value break ties
		// by id.
		x = keep(s, x, atLeastKth(s, x, k))
	}
	ids := s.Slice(s.Argpartition(s.Neg(x), k-1, -1), -1, 0, k)
	ids = s.Sort(s.AsType(ids, mlx.Int32), -1)
	order := s.Argsort(s.Neg(s.TakeAlong(x, ids, -1)), -1)
	return s.TakeAlong(ids, order, -1)
}

// chunkLimit is the most tokens of a chunk of Likeliest.
const chunkLimit = 64

// Likeliest returns the ids (n, k) int32 of the k largest elements of each row of x (n, V), in no
// order. Among equal elements at the border any may be left out. The k largest lie in the k chunks with
// the largest elements. So only the maximum of most chunks is looked for: a partition of whole rows
// takes many times as long.
func Likeliest(s *mlx.Scope, x *mlx.Array, k int) *mlx.Array {
	n, v := x.Dim(0), x.Dim(1)
	width := 1
	for width < chunkLimit && v%(2*width) == 0 {
		width *= 2
	}
	if v/width <= 2*k || width == 1 {
		return largest(s, x, k)
	}
	chunks := s.Reshape(x, n, v/width, width)
	where := s.Reshape(largest(s, s.Max(chunks, -1, false), k), n, k, 1)
	values := s.TakeAlong(chunks, s.BroadcastTo(where, n, k, width), 1)
	ids := s.Add(s.Mul(where, s.Scalar(float64(width), mlx.Int32)),
		s.Reshape(s.Arange(0, width, mlx.Int32), 1, 1, width))
	at := largest(s, s.Reshape(values, n, k*width), k)
	return s.TakeAlong(s.Reshape(ids, n, k*width), at, -1)
}

// largest returns where the k largest elements of each row of x (n, V) are, (n, k) int32.
func largest(s *mlx.Scope, x *mlx.Array, k int) *mlx.Array {
	v := x.Dim(1)
	return s.AsType(s.Slice(s.Argpartition(x, v-k, -1), -1, v-k, v), mlx.Int32)
}

// Logprobs returns the log-probabilities (n, 1) of tokens (n) int32 under the model's own logits
// (n, V). It also returns the ids (n, top) int32 and log-probabilities (n, top) of the likeliest
// tokens, nil for top = 0.
func Logprobs(s *mlx.Scope, logits, tokens *mlx.Array, top int) (chosen, ids, values *mlx.Array) {
	x := s.AsType(logits, mlx.Float32)
	lp := s.Sub(x, s.LogSumExp(x, -1, true))
	chosen = s.TakeAlong(lp, s.Reshape(tokens, -1, 1), -1)
	if top > 0 {
		ids = descending(s, lp, min(top, lp.Dim(-1)))
		values = s.TakeAlong(lp, ids, -1)
	}
	return chosen, ids, values
}
