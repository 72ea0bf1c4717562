package engine

import (
	"fmt"
	"slices"
	"testing"
)

// Restoring is called once and first, then Restored, with 0 too. Later updates do not call them again.
func TestRestoringAndRestoredTokensAreToldOnceAndFirst(t *testing.T) {
	var calls []string
	r := Request{
		Restoring: func() { calls = append(calls, "restoring") },
		Restored:  func(n int) { calls = append(calls, fmt.Sprint("restored ", n)) },
		Progress:  func(done, total int) { calls = append(calls, fmt.Sprint(done, " of ", total)) },
	}
	for _, n := range []int{3, 0} {
		m := newMailbox()
		m.leaveQueue()
		m.restore(n)
		m.progress(5, 10)
		m.post(Token{})
		calls = nil
		if !m.each(t.Context(), &r, func(Token) bool {
			m.progress(6, 10)
			m.close()
			return true
		}) || !slices.Equal(calls, []string{"restoring", fmt.Sprint("restored ", n), "5 of 10", "6 of 10"}) {
			t.Errorf("called %q", calls)
		}
	}
	m := newMailbox()
	m.close()
	calls = nil
	m.each(t.Context(), &r, func(Token) bool { return true })
	if calls != nil {
		t.Errorf("before the reading it called %q", calls)
	}
}
