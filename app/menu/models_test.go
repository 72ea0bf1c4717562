package menu

import (
	"fmt"
	"testing"

	"tandem/app/control"
)

// Models in memory come first, each with a submenu, and the row of the chosen one has the mark. The
// others say how long a load takes, and a click chooses them. The window has those without a row.
func TestModelsInMemoryComeFirst(t *testing.T) {
	st := &control.State{Phase: control.PhaseReady, Choice: "m1"}
	st.InMemory = []control.Loaded{{ID: "m2", Bytes: 3 << 29, Drafting: control.DraftingOff},
		{ID: "m1", InUse: true, Drafting: control.DraftingOn}, {ID: "org/e&5"}}
	for i := range 24 {
		st.Models = append(st.Models, control.Choosable{ID: fmt.Sprintf("m%d", i), LoadMS: 12_300})
	}
	m := Of(new(Menu), View{State: st})
	want := func(s Slot, row Row) {
		t.Helper()
		row.Shown = row.Title != ""
		if got := m.Rows[s]; got != row {
			t.Errorf("slot %d: %+v, want %+v", s, got, row)
		}
	}
	two, one, three := Residents, Residents+residentRows, Residents+2*residentRows
	want(two, Row{Title: "m2, 1.5 GiB", Enabled: true})
	want(two+Choose, Row{Title: "Choose", Enabled: true, Do: Load, About: "m2"})
	want(two+Unload, Row{Title: "Unload", Enabled: true, Do: UnloadModel, About: "m2"})
	want(two+DraftAhead, Row{Title: "Speculative Decoding", Enabled: true, Do: SetDrafting, About: "m2"})
	want(two+SetModel, Row{Title: "Settings…", Enabled: true, Do: OpenWindow,
		About: "#/models/?settings=m2"})
	want(one, Row{Title: "m1", Checked: true, Enabled: true})
	want(one+Choose, Row{})
	want(one+Unload, Row{Title: "Unload", Do: UnloadModel, About: "m1"})
	want(one+DraftAhead, Row{Title: "Speculative Decoding", Checked: true, Enabled: true, Do: SetDrafting,
		About: "m1"})
	want(three, Row{Title: "org/e&5", Enabled: true})
	want(three+DraftAhead, Row{}) // it drafts nothing
	want(three+SetModel, Row{Title: "Settings…", Enabled: true, Do: OpenWindow,
		About: "#/models/?settings=org%2Fe%265"})
	want(three+residentRows, Row{})
	want(Models, Row{Title: "m0, ready in 13 s", Enabled: true, Do: Load, About: "m0"})
	want(Models+1, Row{Title: "m3, ready in 13 s", Enabled: true, Do: Load, About: "m3"})
	want(MoreModels, Row{Title: "All Models…", Enabled: true, Do: OpenWindow,
		About: "#/models"})
	st.Choice, st.InMemory = "m0", nil
	m = Of(new(Menu), View{State: st})
	want(Residents, Row{})
	want(Models, Row{Title: "m0, ready in 13 s", Checked: true, Enabled: true, Do: Load, About: "m0"})
}

// A model in memory without its own submenu is among the others, with its bytes.
func TestFifthModelInMemoryHasAPlainRow(t *testing.T) {
	st := &control.State{}
	for i := range maxResidents + 1 {
		id := fmt.Sprintf("m%d", i)
		st.InMemory = append(st.InMemory, control.Loaded{ID: id, Bytes: 2 << 30})
		st.Models = append(st.Models, control.Choosable{ID: id, LoadMS: 9})
	}
	m := Of(new(Menu), View{State: st})
	if r := m.Rows[Models]; r.Title != "m4, 2 GiB" || r.Do != Load || m.Rows[Models+1].Shown {
		t.Errorf("%+v, %+v", r, m.Rows[Models+1])
	}
}
