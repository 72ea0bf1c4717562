package history

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tandem/app/control"
)

// Presets survive a restart, in the order of their names. One with a mistake changes nothing.
func TestPresetsSurviveRestart(t *testing.T) {
	home, ctx := t.TempDir(), t.Context()
	a := open(t, home)
	if p, err := a.chats.Presets(ctx); err != nil || len(p.Presets) != 0 {
		t.Errorf("at first there are %+v, %v; want none", p, err)
	}
	set := func(name, system string) error {
		return a.chats.SetPreset(ctx, control.Preset{Name: name, System: system})
	}
	for _, one := range [][2]string{{"Reviewer", "Be long."}, {"Editor", "Mend the text."},
		{"Reviewer", "Be brief."}, {"Poet", "Rhyme."}} {
		if err := set(one[0], one[1]); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := a.chats.DeletePreset(ctx, "Poet"); err != nil || len(p.Presets) != 2 {
		t.Errorf("without one there are %+v, %v; want 2", p, err)
	}
	if _, err := a.chats.DeletePreset(ctx, "Poet"); err == nil {
		t.Error("a preset that is not there is deleted")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = open(t, home)
	for _, bad := range [][2]string{{" ", ""}, {strings.Repeat("x", 101), ""},
		{"a", strings.Repeat("x", 64<<10+1)}} {
		err := set(bad[0], bad[1])
		if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeInvalid {
			t.Errorf("%.10q with %d bytes: %v", bad[0], len(bad[1]), err)
		}
	}
	want := []control.Preset{{Name: "Editor", System: "Mend the text."},
		{Name: "Reviewer", System: "Be brief."}}
	if p, err := a.chats.Presets(ctx); err != nil || !reflect.DeepEqual(p.Presets, want) {
		t.Errorf("after a restart there are %+v, %v; want %+v", p, err, want)
	}
	for i := range maxPresets - len(want) {
		if err := set(fmt.Sprint(i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if set("one too many", "") == nil {
		t.Errorf("there are more than %d presets", maxPresets)
	}
}
