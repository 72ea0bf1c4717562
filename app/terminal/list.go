package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
)

// A List prints values as a table, or each as a line of JSON.
type List[T any] struct {
	Columns []Column
	Row     func(T) []any // of the table, see [Column]
	Empty   string        // what to do where there are none, for standard error
}

// Print prints values.
func (l List[T]) Print(p *Program, asJSON bool, values []T) error {
	var rows [][]any
	for _, v := range values {
		if !asJSON {
			rows = append(rows, l.Row(v))
		} else if err := p.PrintJSON(v); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	if len(rows) == 0 && l.Empty != "" {
		p.Say("%s", l.Empty)
		if p.Shown {
			return nil // a header alone says nothing
		}
	}
	return p.Table(l.Columns, rows)
}

// WriteJSON writes one object and a newline. What [Text] replaces is escaped, as a terminal may show it.
func WriteJSON(w io.Writer, v any) error {
	var text, out bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	for _, c := range text.String() {
		if visible(c) == c {
			out.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	_, err := out.WriteTo(w)
	return err
}
