package control

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func TestSpeculationPacksAndUnpacksItsRounds(t *testing.T) {
	first := Rounds{[]int{0, 0, 0, 4, 4, 4, 3, 0}, []int{0, 0, 0, 4, 4, 4, 1, 0},
		[]int{-1, -1, -1, 0, 0, 1, 1, -1}}
	second := Rounds{[]int{0, 5}, []int{0, 0}, []int{-1, 0}}
	s := NewSpeculation([]Rounds{first, second})
	b, err := json.Marshal(s)
	want := `{"rounds":[[0,0,3,0],[4,4,2,1],[4,4,1,2],[3,1,1,2],[0,0,1,0]],"drafted_at":[5,5,5,4,1],"accepted_at":[4,3,3,3]}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	if got := s.Unpack(); !reflect.DeepEqual(got, first) {
		t.Errorf("%+v", got)
	}
	if b, err := json.Marshal(NewSpeculation(nil)); err != nil ||
		string(b) != `{"rounds":[],"drafted_at":[],"accepted_at":[]}` {
		t.Errorf("empty speculation is %s, %v", b, err)
	}
}

// Runs of earlier versions do not say who drafted.
func TestSpeculationOfAnEarlierVersionIsRead(t *testing.T) {
	var s Speculation
	if err := json.Unmarshal([]byte(`{"rounds":[[0,0,1],[4,2,2]]}`), &s); err != nil {
		t.Fatal(err)
	}
	if got := s.Unpack(); !reflect.DeepEqual(got,
		Rounds{[]int{0, 4, 4}, []int{0, 2, 2}, []int{-1, -1, -1}}) {
		t.Errorf("%+v", got)
	}
}

func TestWhyADrafterDidNotDraftMore(t *testing.T) {
	for want, d := range map[string]DrafterRounds{
		"":                             {Rounds: 9},
		"nothing to guess in 3 rounds": {Idle: 3},
		"another drafter comes first where a request sets the depth, in 1 round": {Preceded: 1},
		"expected to be slower in 2 rounds; given up: no memory": {Rounds: 4,
			Trials: 1, Slower: 2, Failed: "no memory"},
	} {
		if got := d.Why(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Each round differs from the round before it. So each one counts as one of MaxRoundRuns.
func TestSpeculationIsCut(t *testing.T) {
	r := Rounds{Drafted: make([]int, MaxRoundRuns+9), Accepted: make([]int, MaxRoundRuns+9)}
	for i := range r.Drafted {
		r.Drafted[i] = i % 2
	}
	r.Drafted[MaxRoundRuns] = r.Drafted[MaxRoundRuns-2]
	r.Drafted[MaxRoundRuns+1] = r.Drafted[MaxRoundRuns-1] // would continue the last run
	s := NewSpeculation([]Rounds{r})
	got := s.Unpack().Drafted
	if s.Cut != 9 || !slices.Equal(got, r.Drafted[:MaxRoundRuns]) || s.DraftedAt[0] <= len(got)/2 {
		t.Errorf("%d of %d rounds are kept, %d cut, %v",
			len(got), len(r.Drafted), s.Cut, s.DraftedAt)
	}
	if b, _ := json.Marshal(s); len(b) > 64<<10 {
		t.Errorf("%d bytes", len(b))
	}
}

func TestAskedNamesEachFieldThatIsSet(t *testing.T) {
	for want, a := range map[string]Asked{
		"": {},
		"drafter ngram, depth 0, rollback snapshot, rule rejection, exact": {"ngram", new(0),
			"snapshot", "rejection", true},
	} {
		if got := a.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
