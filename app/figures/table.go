package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A Table is a table of results.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"` // strings and numbers; nil for no value
	Notes   []string `json:"notes,omitempty"`
}

// Print writes the table for a person.
func (t Table) Print(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n", t.Title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(t.Columns, "\t"))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(v)
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

// cell returns the text of a value. A number from JSON is a float64 unless the decoder keeps numbers as
// they are written: then it has a point only if it is not a whole number.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return Format(v)
	case json.Number:
		if _, err := v.Int64(); err != nil {
			if f, err := v.Float64(); err == nil {
				return Format(f)
			}
		}
	}
	return fmt.Sprint(v)
}

// Format formats a number with three significant digits, or with all digits before the point.
func Format(v float64) string {
	digits, x := 2, math.Abs(v)
	for ; digits > 0 && x >= 10; x /= 10 {
		digits--
	}
	for ; 0 < x && x < 1; x *= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Milliseconds returns a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// Since returns the milliseconds since t.
func Since(t time.Time) float64 { return Milliseconds(time.Since(t)) }

// Megabytes converts bytes for printing.
func Megabytes(bytes int64) float64 { return Round(float64(bytes) / 1e6) }

// Round rounds a value of 100 or more to an integer.
func Round(v float64) float64 {
	if math.Abs(v) >= 100 {
		return math.Round(v)
	}
	return v
}

// OrDash returns nil for 0, which a table prints as a dash.
func OrDash(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}
