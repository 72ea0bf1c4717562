package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
