package bench

import (
	"math"
	"strconv"
	"time"
)

// sensible writes three digits, or all before the point.
func sensible(v float64) string {
	digits := 2
	for x := max(v, -v); digits > 0 && x >= 10; x /= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// since is elapsed time in milliseconds.
func since(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// megabytes is bytes as they are printed.
func megabytes(bytes int64) float64 { return whole(float64(bytes) / 1e6) }

// whole drops digits that a number of three has no use for.
func whole(v float64) float64 {
	if math.Abs(v) >= 100 {
		return math.Round(v)
	}
	return v
}

func nilIfZero(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}
