package terminal

import (
	"encoding/json"
	"io"
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
		} else if err := WriteJSON(p.Stdout, v); err != nil {
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

// WriteJSON writes one object and a newline.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
