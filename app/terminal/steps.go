package terminal

import (
	"fmt"
	"io"
	"strings"
)

// A StepWriter writes as lines what replaces itself on one line of a terminal, so the log of a bench
// shows how far it came. Each Write has whole steps.
type StepWriter struct {
	W    io.Writer
	last string
}

func (s *StepWriter) Write(text []byte) (int, error) {
	ends := func(c rune) bool { return c == '\r' || c == '\n' }
	for step := range strings.FieldsFuncSeq(string(text), ends) {
		step = strings.TrimRight(step, " ")
		if step == "" || step == s.last {
			continue
		}
		s.last = step
		if _, err := fmt.Fprintln(s.W, step); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
