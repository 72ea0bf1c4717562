package cache_test

import (
	"context"
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/mlx"
)

// A sequence appends rows, drops the rejected ones, and goes back to a snapshot.
func Example() {
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer thread.Close()
	err = thread.Do(context.Background(), func(s *mlx.Scope) error {
		c := cache.New(cache.Options{}, 0) // keeps every row
		defer c.Free(s)
		add := func(rows ...float32) error {
			x := mlx.New(s, rows, 1, 1, len(rows), 1) // (1, KV, n, D)
			c.Update(s, x, x)
			return s.Eval(c.Arrays()...)
		}
		if err := add(1, 2, 3); err != nil {
			return err
		}
		snapshot, err := c.Snapshot(s, 0)
		if err != nil {
			return err
		}
		defer snapshot.Release()
		fmt.Println("captured", snapshot.From(), "to", snapshot.To())

		if err := add(4, 5, 6, 7); err != nil {
			return err
		}
		if err := c.Trim(3); err != nil { // 5, 6 and 7 were rejected
			return err
		}
		fmt.Println("rows after trim:", c.Offset())

		if err := c.Restore(s, []*cache.Snapshot{snapshot}, 2); err != nil {
			return err
		}
		fmt.Println("rows after restore:", c.Offset())
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// captured 0 to 3
	// rows after trim: 4
	// rows after restore: 2
}
