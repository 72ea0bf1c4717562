package engine

import (
	"fmt"
	"slices"
	"testing"
)

func TestRestoredTokensAreToldOnceAndFirst(t *testing.T) {
	m := newMailbox()
	m.restore(3)
	m.progress(5, 10)
	m.close()
	var told []string
	r := Request{
		Restored: func(n int) { told = append(told, fmt.Sprint("restored ", n)) },
		Progress: func(done, total int) { told = append(told, fmt.Sprint(done, " of ", total)) },
	}
	if !m.each(t.Context(), &r, func(Token) bool { return true }) ||
		!slices.Equal(told, []string{"restored 3", "5 of 10"}) {
		t.Errorf("told %q", told)
	}
	m = newMailbox()
	m.close()
	told = nil
	m.each(t.Context(), &r, func(Token) bool { return true })
	if told != nil {
		t.Errorf("without a restored token it told %q", told)
	}
}
