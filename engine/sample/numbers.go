package sample

import "tandem/engine/mlx"

// NoToken stands in place of a token where the logits are no numbers.
const NoToken = -1

// Guard returns tokens (n) int32, with [NoToken] where the row of logits (n, V) that the token was
// drawn from holds NaN or has no finite maximum. Argmax would take some token of such a row. The
// check rides on the token, so that it costs no sync.
func Guard(s *mlx.Scope, logits, tokens *mlx.Array) *mlx.Array {
	top := s.Max(logits, -1, false) // NaN if any is
	finite := s.Equal(s.Sub(top, top), s.Scalar(0, top.Dtype()))
	return s.Where(finite, tokens, s.Scalar(NoToken, mlx.Int32))
}
