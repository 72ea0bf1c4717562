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
	for _, x := range findings {
		if !x.OK {
			bad++
		}
	}
	err := List[Finding]{
		Columns: []Column{{}, {}, {Wraps: true}},
		Row: func(x Finding) []any {
			mark := Marked{"✓", Good}
			if !x.OK {
				mark = Marked{"✗", Wrong}
			}
			return []any{mark, x.Name, x.Detail}
		},
	}.Print(p, asJSON, findings)
	switch {
	case err != nil || bad == 0:
		return err
	case bad == 1:
		return errors.New("1 problem found")
	}
	return fmt.Errorf("%d problems found", bad)
}
