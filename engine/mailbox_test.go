package engine

import (
	"fmt"
	"slices"
	"testing"
)

// The beginning is told once and first, and then the tokens that were restored, even none.
func TestBeginningAndRestoredTokensAreToldOnceAndFirst(t *testing.T) {
	var told []string
	r := Request{
		Begun:    func() { told = append(told, "begun") },
		Restored: func(n int) { told = append(told, fmt.Sprint("restored ", n)) },
		Progress: func(done, total int) { told = append(told, fmt.Sprint(done, " of ", total)) },
	}
	for _, n := range []int{3, 0} {
		m := newMailbox()
		m.begin()
		m.restore(n)
		m.progress(5, 10)
		m.close()
		told = nil
		if !m.each(t.Context(), &r, func(Token) bool { return true }) ||
			!slices.Equal(told, []string{"begun", fmt.Sprint("restored ", n), "5 of 10"}) {
			t.Errorf("told %q", told)
		}
	}
	m := newMailbox()
	m.close()
	told = nil
	m.each(t.Context(), &r, func(Token) bool { return true })
	if told != nil {
		t.Errorf("before the reading it told %q", told)
	}
}
