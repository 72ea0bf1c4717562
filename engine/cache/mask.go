package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// A maskKey names a window mask, which layers of one kind share in a forward.
type maskKey struct{ window, ring, offset, n int }

// windowMask returns the (n, S) bool mask of queries at positions [offset, offset+n) over rows in
// slot order: the query at q attends positions q-window+1 to q. ring is the number of slots, 0
// where position p is in row p. For n = 0 it is the mask of the query at offset, (1, S), over the
// rows before its own. The mask is made on the host, because each of its rows is at most two runs.
func windowMask(s *mlx.Scope, window, ring, offset, n int) *mlx.Array {
	return s.Memo(maskKey{window, ring, offset, n}, func() *mlx.Array {
		end := offset + n
		size := end // S
		if ring > 0 {
			size = min(end, ring)
		}
		queries := max(n, 1)
		mask := make([]bool, queries*size)
		for i := range queries {
			row := mask[i*size : (i+1)*size]
			for p := max(0, offset+i-window+1); p <= offset+i && p < end; p++ {
				if ring > 0 {
					row[p%ring] = true
				} else {
					row[p] = true
				}
			}
		}
		return mlx.New(s, mask, queries, size)
	})
}

// shows reports whether a cache of rows can show the newest n. If not, the scope fails.
func shows(s *mlx.Scope, n, rows int) bool {
	if n < 1 || n > rows {
		s.Fail(fmt.Errorf("cache: no view of the last %d of %d rows", n, rows))
	}
	return s.Err() == nil
}

// showsNext is shows for a cache that can also show what the next position attends, which is n = 0.
func showsNext(s *mlx.Scope, n, rows int) bool {
	if n == 0 {
		n = 1 // there has to be a row
	}
	return shows(s, n, rows)
}
