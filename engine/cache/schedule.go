package cache

import "fmt"

// A schedule is the list of offsets to capture at, and the captures taken so far.
type schedule struct {
	start    int // of the first capture's rows
	offsets  []int
	captured []*Snapshot // of the first len(captured) offsets
}

func (c *schedule) set(from, offset int, offsets []int) error {
	if from < 0 || from > offset {
		return fmt.Errorf("cache: no rows from position %d in a cache of %d", from, offset)
	}
	if len(c.offsets) > 0 {
		return fmt.Errorf("cache: captures are scheduled already; take them with Captured first")
	}
	last := offset
	for _, o := range offsets {
		if o <= last {
			return fmt.Errorf("cache: capture scheduled at %d, not beyond %d", o, last)
		}
		last = o
	}
	c.start = from
	c.offsets = append(c.offsets, offsets...)
	return nil
}

// cross takes the captures at every offset up to end. capture gets the end of the previous capture,
// and the offset.
func (c *schedule) cross(end int, capture func(from, at int) *Snapshot) {
	for i := len(c.captured); i < len(c.offsets) && c.offsets[i] <= end; i++ {
		from := c.start
		if i > 0 {
			from = c.offsets[i-1]
		}
		c.captured = append(c.captured, capture(from, c.offsets[i]))
	}
}

// ahead returns the offsets up to end that are not captured yet.
func (c *schedule) ahead(end int) []int {
	ahead := c.offsets[len(c.captured):]
	for i, o := range ahead {
		if o > end {
			return ahead[:i]
		}
	}
	return ahead
}

// rewind undoes the captures beyond offset. They are taken again when the rows are written again.
func (c *schedule) rewind(offset int) {
	n := len(c.captured)
	for n > 0 && c.captured[n-1].to > offset {
		n--
		c.captured[n].Release()
	}
	c.captured = c.captured[:n]
	c.start = min(c.start, offset)
}

// take returns the captures and empties the schedule.
func (c *schedule) take() []*Snapshot {
	captured := c.captured
	*c = schedule{}
	return captured
}

// clear releases the captures and empties the schedule.
func (c *schedule) clear() {
	for _, p := range c.take() {
		p.Release()
	}
}
