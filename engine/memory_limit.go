package engine

import "tandem/engine/mlx"

// prefillSlack is what a chunk may hold beside the scores of one layer before MLX stops running
// ahead. Beyond it each operation waits for the last one and gives memory back, which halves the
// speed. Only prompts with scores that large meet it (log/2026-11-21.md).
const prefillSlack = 256 << 20 // bytes

// limitMemory bounds the memory of one forward of many rows, where that is needed. If ok, the
// caller sets the old limit again.
func limitMemory(thread *mlx.Thread, s *mlx.Scope) (old int64, ok bool) {
	if thread.GPU() {
		return 0, false
	}
	// Attention in MLX's operations materialises its scores on the CPU: (heads, chunk, T) under a
	// mask, blocks of queries without one. With more than the slack active, the operations go one by
	// one. So the scores of two layers never exist at once.
	return s.SetMemoryLimit(s.Memory().Active + prefillSlack)
}
