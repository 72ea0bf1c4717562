package eviction

import (
	"fmt"

	"tandem/app/control"
)

// SwapDrafter returns what a model needs with another drafter: z is its size with that one. The model itself is not
// among s.Models and keeps its context. old is the bytes of its present drafter's weights.
//
// both says whether there is room for the old drafter too. Then that is freed once the new one is
// loaded, else before. No sequence of the model takes memory meanwhile. Error: CodeMemory.
func (s State) SwapDrafter(m Model, z Size, old int64) (n Need, both bool, err error) {
	left := s.Left()
	room := max(left, m.Need.Bytes())
	if n = z.need(m.Need.Context); n.Bytes() > room {
		return n, true, control.Plain(control.CodeMemory, fmt.Sprintf(
			"With that drafter %s needs %s, but only %s of the %s for models are left. "+
				"Unload other models, give it a shorter context, or choose a smaller drafter.",
			m.ID, control.GiB.Of(n.Bytes()), control.GiB.Of(max(0, left)), control.GiB.Of(s.Room())))
	}
	if old == 0 {
		return n, true, nil
	}
	with := n
	with.Weights, with.Cache = n.Weights+old, max(0, n.Cache-old)
	if with.Bytes() > room || s.Overdrawn(with) != "" {
		return n, false, nil
	}
	return with, true, nil
}
