package texts

import (
	"testing"
	"time"
)

// A request that arrived before something was forgotten adds nothing, though its memory is opened
// only after that.
func TestRequestBeforeForgetAddsNothing(t *testing.T) {
	s := NewStore(Options{Dir: t.TempDir()})
	arrived := time.Now()
	if _, err := s.Forget(func(Owner, Origin) bool { return true }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arrived time.Time
		want    int
	}{{arrived, 0}, {time.Now(), 1}} {
		use := s.OpenSince(Owner{}, Origin{}, c.arrived)
		use.Add(Text{Tokens: []int32{1, 2, 3}})
		use.Close()
		kept, err := s.List()
		if err != nil || len(kept) != c.want {
			t.Errorf("%d memories are kept, want %d, %v", len(kept), c.want, err)
		}
	}
}
