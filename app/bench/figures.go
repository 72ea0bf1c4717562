package bench

import (
	"math"
	"strconv"
	"time"
)

// sensible formats a number with three digits, or with all digits before the point.
func sensible(v float64) string {
	digits := 2
	for x := max(v, -v); digits > 0 && x >= 10; x /= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// since returns the milliseconds since t.
func since(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// megabytes converts bytes for printing.
func megabytes(bytes int64) float64 { return whole(float64(bytes) / 1e6) }

// whole rounds a value of 100 or more to an integer.
func whole(v float64) float64 {
	if math.Abs(v) >= 100 {
		return math.Round(v)
	}
	return v
}

// nilIfZero returns nil for 0, which a table prints as a dash.
func nilIfZero(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}
