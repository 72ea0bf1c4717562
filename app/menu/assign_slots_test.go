package menu

import (
	"slices"
	"testing"

	"tandem/app/control"
)

// An id keeps its slot. New ones take free slots, and a slot that has just become free comes last.
func TestSeatsAreKept(t *testing.T) {
	for _, c := range []struct {
		before, ids []string
		want        []int
	}{
		{[]string{"", "", ""}, []string{"a", "b"}, []int{0, 1}},
		{[]string{"a", "b", "c"}, []string{"b", "c"}, []int{1, 2}},
		{[]string{"a", "b", ""}, []string{"b", "c"}, []int{1, 2}},
		{[]string{"a", "b", ""}, []string{"b", "c", "d"}, []int{1, 2, 0}},
		{[]string{"a", "b", "c"}, []string{"d", "a", "b", "c"}, []int{-1, 0, 1, 2}},
		{[]string{"a", "", ""}, nil, []int{}},
	} {
		if got := assignSlots(c.before, c.ids); !slices.Equal(got, c.want) {
			t.Errorf("%q, then %q: %v, want %v", c.before, c.ids, got, c.want)
		}
	}
}

// The first request ends while its submenu is open. No row means another request then, and a new one
// takes a row that was free.
func TestRequestKeepsItsRows(t *testing.T) {
	st := &control.State{Phase: control.PhaseReady, Active: []control.Active{
		{RunID: 7, Client: "zed/1"}, {RunID: 9, Client: "claude-cli/2.1"}}}
	stops := func(m *Menu) (ids [maxRequests]string) {
		for i := range ids {
			row := Requests + Slot(i)*requestRows
			if ids[i] = m.Rows[row+StopRun].About; m.Rows[row].Shown != (ids[i] != "") {
				t.Errorf("row %d: %+v", i, m.Rows[row])
			}
		}
		return ids
	}
	first := Of(new(Menu), View{State: st})
	if got := stops(first); got != [maxRequests]string{"7", "9"} {
		t.Fatalf("at first %q", got)
	}
	st.Active = st.Active[1:]
	second := Of(first, View{State: st})
	if got := stops(second); got != [maxRequests]string{"", "9"} {
		t.Errorf("after the first has ended: %q", got)
	}
	if r := second.Rows[Requests+requestRows]; r.Title != "Claude Code: waiting" {
		t.Errorf("the row of the other: %+v", r)
	}
	st.Active = append(st.Active, control.Active{RunID: 12})
	if got := stops(Of(first, View{State: st})); got != [maxRequests]string{"", "9", "12"} {
		t.Errorf("a new one comes as the first ends: %q", got)
	}
	st.Active = append(st.Active, control.Active{RunID: 14}, control.Active{RunID: 15})
	if got := stops(Of(first, View{State: st})); got != [maxRequests]string{"14", "9", "12"} {
		t.Errorf("more than there are rows: %q", got)
	}
}

// A model that stays in memory keeps its rows, whatever is unloaded or loaded beside it.
func TestModelInMemoryKeepsItsRows(t *testing.T) {
	st := &control.State{Phase: control.PhaseReady,
		InMemory: []control.Loaded{{ID: "a"}, {ID: "b"}}}
	first := Of(new(Menu), View{State: st})
	st.InMemory = []control.Loaded{{ID: "c"}, {ID: "b"}}
	second := Of(first, View{State: st})
	for i, want := range []string{"", "b", "c"} {
		row := Residents + Slot(i)*residentRows
		if got := second.Rows[row+Unload].About; got != want || second.Rows[row].Title != want {
			t.Errorf("row %d unloads %q, want %q; %+v", i, got, want, second.Rows[row])
		}
	}
}
