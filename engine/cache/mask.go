package cache

import "tandem/engine/mlx"

// A maskKey names a window mask: layers of one kind share it in a forward.
type maskKey struct{ window, ring, offset, n int }

// windowMask returns the (n, S) mask of queries at positions offset to
// offset+n over rows in slot order: query q attends positions q-window+1 to q.
// ring is the number of slots, 0 where position p lies in row p. It is made on
// the host: a row of it is at most two runs.
func windowMask(s *mlx.Scope, window, ring, offset, n int) *mlx.Array {
	return s.Memo(maskKey{window, ring, offset, n}, func() *mlx.Array {
		end := offset + n
		size := end // S
		if ring > 0 {
			size = min(end, ring)
		}
		mask := make([]bool, n*size)
		for i := range n {
			row := mask[i*size : (i+1)*size]
			for p := max(0, offset+i-window+1); p <= offset+i; p++ {
				if ring > 0 {
					row[p%ring] = true
				} else {
					row[p] = true
				}
			}
		}
		return mlx.New(s, mask, n, size)
	})
}
