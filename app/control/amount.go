package control

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Unit is a unit in which amounts of bytes are told.
type Unit int64

// The units. Memory is told in powers of two, as machines have it; the disk in powers of ten. The
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

// Of formats an amount with at most one digit after the point.
func (u Unit) Of(n int64) string { return u.write(n, 10) }

// Exactly formats an amount that a person gave, with at most three digits after the point. An
// amount that would be 0 then is told in bytes.
func (u Unit) Exactly(n int64) string {
	if n != 0 && math.Abs(float64(n)) < float64(u)/2000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return u.write(n, 1000)
}

// write rounds to parts of the unit.
func (u Unit) write(n int64, parts float64) string {
	return strconv.FormatFloat(math.Round(float64(n)*parts/float64(u))/parts, 'f', -1, 64) + " " +
		u.String()
}

// MemorySize formats an amount of memory in powers of two: "90 MiB", "6.1 GiB".
func MemorySize(n int64) string {
	if n < int64(GiB) {
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return GiB.Of(n)
}

// ByteSize formats a number of bytes in the largest unit that fits, in powers of ten: "512 B",
// "24.4 MB".
func ByteSize(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// Grouped formats a number with commas between thousands.
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

// Duration formats milliseconds as the window does.
func Duration(ms float64) string {
	switch minutes := int(math.Round(ms / 60_000)); {
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms < 90_000:
		return fmt.Sprintf("%.0f s", ms/1000)
	case minutes < 90:
		return fmt.Sprintf("%d min", minutes)
	default:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
}

// Count formats a large number: 12.2M.
func Count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
