package control

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// After each patch the follower's state equals the server's, for a change of any field.
func TestFollowerHasTheSameState(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var f Follower
	var before []byte
	for rev := int64(1); rev < 300; rev++ {
		st := State{Rev: rev, Phase: PhaseReady, Choice: string(rune('a' + r.IntN(3)))}
		if r.IntN(2) == 0 {
			st.Error = "it broke"
		}
		if r.IntN(2) == 0 {
			st.Loaded = &Loaded{ID: "a", Queued: r.IntN(2)}
			st.InMemory = []Loaded{*st.Loaded}
		}
		for range r.IntN(3) {
			st.Active = append(st.Active, Active{RunID: r.Int64N(4)})
			st.Models = append(st.Models, Choosable{ID: "m"})
		}
		after, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		event := after
		if before != nil {
			if event, err = NewPatch(before, after); err != nil {
				t.Fatal(err)
			}
		}
		before = after
		got, err := f.Next(event)
		if err != nil || !reflect.DeepEqual(got, st) {
			t.Fatalf("%s gives %+v, %v; want %+v", event, got, err, st)
		}
	}
	if same, err := NewPatch(before, before); same != nil || err != nil {
		t.Errorf("the patch without a change is %s, %v", same, err)
	}
	if _, err := f.Next([]byte(`{"rev":900}`)); err == nil {
		t.Error("lost events go unnoticed")
	}
	for _, bad := range []string{"", "[]", "{", `{"rev":"x"}`} {
		if _, err := new(Follower).Next([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a state", bad)
		}
	}
}
