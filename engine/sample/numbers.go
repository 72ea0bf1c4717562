package sample

import "tandem/engine/mlx"

// NoToken replaces a token whose logits are not numbers.
const NoToken = -1

// Guard returns tokens (n) int32, with [NoToken] in place of each that was drawn from broken
// logits. A row of logits (n, V) is broken if it holds NaN or has no finite maximum. Argmax would
// take some token of such a row. The check is part of the token's graph, so that it costs no sync.
func Guard(s *mlx.Scope, logits, tokens *mlx.Array) *mlx.Array {
	top := s.Max(logits, -1, false) // NaN if any is
	finite := s.Equal(s.Sub(top, top), s.Scalar(0, top.Dtype()))
	return s.Where(finite, tokens, s.Scalar(NoToken, mlx.Int32))
}
