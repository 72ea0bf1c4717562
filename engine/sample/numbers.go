package sample

import "tandem/engine/mlx"

// NoToken stands in place of a token where the logits are no numbers.
const NoToken = -1

// Guard returns tokens (n) int32, with [NoToken] in place of each that was drawn from broken
// logits. A row of logits (n, V) is broken if it holds NaN or has no finite maximum. Argmax would
// take some token of such a row. The check rides on the token, so that it costs no sync.
func Guard(s *mlx.Scope, logits, tokens *mlx.Array) *mlx.Array {
	top := s.Max(logits, -1, false) // NaN if any is
	finite := s.Equal(s.Sub(top, top), s.Scalar(0, top.Dtype()))
	return s.Where(finite, tokens, s.Scalar(NoToken, mlx.Int32))
}
