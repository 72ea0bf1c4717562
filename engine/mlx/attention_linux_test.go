package mlx

import (
	"strings"
	"testing"
)

// TestTiledAttentionRefusesOtherTypes expects an error for each input that is not of the type that
// is read.
func TestTiledAttentionRefusesOtherTypes(t *testing.T) {
	th := newThread(t)
	for i, want := range []string{"float32", "float32", "float32", "float32", "mask"} {
		err := th.Do(t.Context(), func(s *Scope) error {
			in := []*Array{
				s.Zeros(Float32, 1, 2, 1, 16), s.Zeros(Float32, 1, 2, 3, 16),
				s.Zeros(Float32, 1, 2, 3, 16), s.Zeros(Float32, 2),
				s.Zeros(Bool, 1, 3),
			}
			in[i] = s.AsType(in[i], BFloat16)
			return s.Eval(s.TiledAttention(in[0], in[1], in[2], 1, in[4], in[3], false))
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("input %d: %v", i, err)
		}
	}
}
