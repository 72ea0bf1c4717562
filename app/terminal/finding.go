package terminal

import (
	"errors"
	"fmt"
)

// A Finding is one line of a doctor's report.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what to do, if not OK
}

// PrintFindings prints a report. It returns an error if a check found a problem.
func (p *Program) PrintFindings(findings []Finding, asJSON bool) error {
	bad := 0
	var rows [][]any
	for _, x := range findings {
		mark := Marked{"✓", Good}
		if !x.OK {
			bad++
			mark = Marked{"✗", Wrong}
		}
		rows = append(rows, []any{mark, x.Name, x.Detail})
		if asJSON {
			if err := WriteJSON(p.Stdout, x); err != nil {
				return err
			}
		}
	}
	if !asJSON {
		if err := p.Table([]Column{{}, {}, {Wraps: true}}, rows); err != nil {
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
