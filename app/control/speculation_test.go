package control

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestSpeculation(t *testing.T) {
	drafted := []int{0, 0, 0, 4, 4, 8, 0}
	accepted := []int{0, 0, 0, 4, 4, 3, 0}
	s := NewSpeculation(drafted, accepted, []int{3, 3, 3, 2})
	b, err := json.Marshal(s)
	if want := `{"rounds":[[0,0,3],[4,4,2],[8,3,1],[0,0,1]],"accepted_at":[3,3,3,2]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	if d, a := s.Unpack(); !slices.Equal(d, drafted) || !slices.Equal(a, accepted) {
		t.Errorf("%v %v", d, a)
	}
	if b, err := json.Marshal(NewSpeculation(nil, nil, nil)); err != nil || string(b) != `{"rounds":[],"accepted_at":[]}` {
		t.Errorf("nothing is %s, %v", b, err)
	}
}

// TestSpeculationIsCut: no two rounds in a row are alike.
func TestSpeculationIsCut(t *testing.T) {
	drafted := make([]int, MaxRoundRuns+9)
	for i := range drafted {
		drafted[i] = i % 2
	}
	accepted := make([]int, len(drafted))
	s := NewSpeculation(drafted, accepted, nil)
	got, _ := s.Unpack()
	if s.Cut != 9 || !slices.Equal(got, drafted[:MaxRoundRuns]) {
		t.Errorf("%d of %d rounds are kept, %d cut", len(got), len(drafted), s.Cut)
	}
	if b, _ := json.Marshal(s); len(b) > 64<<10 {
		t.Errorf("%d bytes", len(b))
	}
}
