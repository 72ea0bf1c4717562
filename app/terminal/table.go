package terminal

import (
	"encoding/json"
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

// Table prints aligned columns, with each cell [Printable].
func Table(w io.Writer, header []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(header, "\t"))
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, text := range r {
			cells[i] = Printable(text)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
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

// PrintFindings prints a report. It returns an error if a check found something to mend.
func (p *Program) PrintFindings(findings []Finding, asJSON bool) error {
	bad := 0
	var rows [][]string
	for _, x := range findings {
		if !x.OK {
			bad++
		}
		if asJSON {
			if err := WriteJSON(p.Stdout, x); err != nil {
				return err
			}
			continue
		}
		mark := "ok"
		if !x.OK {
			mark = "!!"
		}
		rows = append(rows, []string{mark, x.Name, x.Detail})
	}
	if !asJSON {
		if err := Table(p.Stdout, []string{"", "WHAT", "FOUND"}, rows); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d checks found something to mend", bad, len(findings))
	}
	return nil
}
