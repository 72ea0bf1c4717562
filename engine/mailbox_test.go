package engine

import (
	"fmt"
	"slices"
	"testing"
)

// The restoring is told once and first, and then the tokens that were restored, even none. Later news
// does not tell them again.
func TestRestoringAndRestoredTokensAreToldOnceAndFirst(t *testing.T) {
	var told []string
	r := Request{
		Restoring: func() { told = append(told, "restoring") },
		Restored:  func(n int) { told = append(told, fmt.Sprint("restored ", n)) },
		Progress:  func(done, total int) { told = append(told, fmt.Sprint(done, " of ", total)) },
	}
	for _, n := range []int{3, 0} {
		m := newMailbox()
		m.leaveQueue()
		m.restore(n)
		m.progress(5, 10)
		m.post(Token{})
		told = nil
		if !m.each(t.Context(), &r, func(Token) bool {
			m.progress(6, 10)
			m.close()
			return true
		}) || !slices.Equal(told, []string{"restoring", fmt.Sprint("restored ", n), "5 of 10", "6 of 10"}) {
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
