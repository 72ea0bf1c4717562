package control

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Unit is what amounts of bytes are told in.
type Unit int64

// The units. Memory is told in powers of two, as machines have it. Disk is told in powers of ten. The
// window does the same in format.ts.
const (
	GB  Unit = 1e9
	GiB Unit = 1 << 30
)

// unitOf returns the unit in which the page asks for a budget of checkpoints.
func unitOf(name string) Unit {
	if name == "checkpoint_memory" {
		return GiB
	}
	return GB
}

func (u Unit) String() string {
	if u == GiB {
		return "GiB"
	}
	return "GB"
}

// Of writes an amount with one digit behind the point at most.
func (u Unit) Of(n int64) string { return u.write(n, 10) }

// Exactly writes an amount that somebody gave, with three digits behind the point
// at most, or in bytes where that would be nothing.
func (u Unit) Exactly(n int64) string {
	if n != 0 && math.Abs(float64(n)) < float64(u)/2000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return u.write(n, 1000)
}

// write rounds to parts of the unit.
func (u Unit) write(n int64, parts float64) string {
	return strconv.FormatFloat(math.Round(float64(n)*parts/float64(u))/parts, 'f', -1, 64) + " " + u.String()
}

// Grouped writes a number with commas between thousands.
func Grouped(n int) string {
	text := fmt.Sprint(n)
	var b strings.Builder
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
