package nn

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"tandem/engine/mlx"
)

// TestFirstErrorIsReported expects the checkpoint's first failure from Err, in one line. Later
// failures of the checkpoint and of the scope do not replace it.
func TestFirstErrorIsReported(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	first := errors.New("config.json: first")
	th.Do(t.Context(), func(s *mlx.Scope) error {
		w := NewWeights(s, noTensors{}, nil)
		w.fail(first)
		s.Fail(errors.New("second"))
		w.fail(errors.New("third"))
		if err := w.Err(); err != first {
			t.Errorf("got %q, want %q", err, first)
		}
		return nil
	})
}

// TestListsOfIDs expects the same of both readers of ids: either type of integers, ids in range,
// and otherwise the checkpoint's error. Only a list of some tokens has to ascend.
func TestListsOfIDs(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const limit = 10
	for _, c := range []struct {
		ids  []int64
		want string // of both
		some string // of a list of some tokens alone
	}{
		{[]int64{1, 4, 9}, "", ""},
		{[]int64{4, 1, 9}, "", "ids has 1 after 4, and its ids must ascend"},
		{[]int64{1, 10}, "ids has 10 at 1, which is not between 0 and 9", ""},
		{[]int64{-1, 4}, "ids has -1 at 0, which is not between 0 and 9", ""},
		{[]int64{1, 1<<32 + 4}, "ids has 4294967300 at 1, which is not between 0 and 9", ""},
	} {
		for _, dtype := range []string{"I32", "I64"} {
			var bytes []byte
			for _, id := range c.ids {
				bytes = binary.LittleEndian.AppendUint64(bytes, uint64(id))
				if dtype == "I32" {
					bytes = bytes[:len(bytes)-4]
				}
			}
			if dtype == "I32" && c.ids[len(c.ids)-1] > math.MaxInt32 {
				continue
			}
			src := tensors{"ids": {dtype, []int{len(c.ids)}, bytes}}
			err := th.Do(t.Context(), func(s *mlx.Scope) error {
				for _, some := range []bool{false, true} {
					w := NewWeights(s, src, nil)
					want := c.want
					var a *mlx.Array
					if some {
						a, _ = w.IDs("ids", limit)
						want = cmp.Or(want, c.some)
					} else {
						a = w.Indices("ids", len(c.ids), limit)
					}
					if err := w.Err(); want != "" || err != nil {
						if err == nil || err.Error() != want {
							t.Errorf("%v in %s, some %v: %v, want %q", c.ids, dtype, some, err, want)
						}
					} else if got, err := mlx.Read[int32](s, a); err != nil || len(got) != len(c.ids) ||
						int64(got[0]) != c.ids[0] {
						t.Errorf("%v in %s, some %v: %v, %v", c.ids, dtype, some, got, err)
					}
					w.Free()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}
