package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A benchTable is a table of results.
type benchTable struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"` // strings and numbers; nil for no value
	Notes   []string `json:"notes,omitempty"`
}

// print writes the table for a person.
func (t benchTable) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(t.Columns, "\t"))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case nil:
				cells[i] = "-"
			case float64:
				cells[i] = sensible(v)
			default:
				cells[i] = fmt.Sprint(v)
			}
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, note := range t.Notes {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return err
		}
	}
	return nil
}

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
