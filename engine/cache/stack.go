package cache

import "tandem/engine/mlx"

// A Stack is the caches of one sequence, one for each layer that keeps something. All hold the
// same positions.
type Stack []Cache

// Arrays returns the live buffers of all caches, as [Cache] does.
func (s Stack) Arrays() []*mlx.Array {
	var list []*mlx.Array
	for _, c := range s {
		list = append(list, c.Arrays()...)
	}
	return list
}

// Bytes returns the sizes of the live arrays, as [Cache] does.
func (s Stack) Bytes() (sum int64) {
	for _, c := range s {
		sum += c.Bytes()
	}
	return sum
}

// Expect says how many positions the sequence can come to have, as [Cache] does.
func (s Stack) Expect(positions int) {
	for _, c := range s {
		c.Expect(positions)
	}
}

// Rewindable returns the caches that can be restored to any position inside a snapshot, in their
// order.
func (s Stack) Rewindable() Stack {
	var list Stack
	for _, c := range s {
		if !c.NeedsExact() {
			list = append(list, c)
		}
	}
	return list
}

// Trim drops the newest n rows of all caches. After an error the caches may hold different
// positions and can only be freed.
func (s Stack) Trim(n int) error {
	for _, c := range s {
		if err := c.Trim(n); err != nil {
			return err
		}
	}
	return nil
}

// Free releases the buffers of all caches, as [Cache] does.
func (s Stack) Free(scope *mlx.Scope) {
	for _, c := range s {
		c.Free(scope)
	}
}
