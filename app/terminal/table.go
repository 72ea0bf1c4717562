package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Printable replaces the runes that would move a terminal's cursor or turn a line around, because
// clients and models may be named by anyone.
func Printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}

// Table prints aligned columns, with each cell [Printable]. A nil header is left out.
func Table(w io.Writer, header []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if header != nil {
		fmt.Fprintln(tw, strings.Join(header, "\t"))
	}
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, text := range r {
			cells[i] = Printable(text)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
}

// A List prints values as a table, or each as a line of JSON.
type List[T any] struct {
	Header []string
	Row    func(T) []string // of the table
	Empty  string           // what to do where there are none, for standard error
}

// Print prints values.
func (l List[T]) Print(p *Program, asJSON bool, values []T) error {
	var rows [][]string
	for _, v := range values {
		if !asJSON {
			rows = append(rows, l.Row(v))
		} else if err := WriteJSON(p.Stdout, v); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	if len(rows) == 0 && l.Empty != "" {
		fmt.Fprintf(p.Stderr, "%s: %s\n", p.Name, l.Empty)
	}
	return Table(p.Stdout, l.Header, rows)
}

// WriteJSON writes one object and a newline.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// A Finding is one line of a doctor's report.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what to do, if not OK
}

// PrintFindings prints a report. It returns an error if a check found a problem.
func (p *Program) PrintFindings(findings []Finding, asJSON bool) error {
	bad := 0
	var rows [][]string
	for _, x := range findings {
		mark := "✓"
		if !x.OK {
			bad++
			mark = "✗"
		}
		rows = append(rows, []string{mark, x.Name, x.Detail})
		if asJSON {
			if err := WriteJSON(p.Stdout, x); err != nil {
				return err
			}
		}
	}
	if !asJSON {
		if err := Table(p.Stdout, nil, rows); err != nil {
			return err
		}
	}
	switch bad {
	case 0:
		return nil
	case 1:
		return errors.New("1 problem found")
	}
	return fmt.Errorf("%d problems found", bad)
}
