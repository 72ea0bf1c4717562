package pool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
	"tandem/models/hub"
)

// The drafters that a model could have are those beside it, in its weights and in the hub's cache.
// The one that is set comes first.
func TestCandidatesAreAllDraftersOfAModel(t *testing.T) {
	cache := t.TempDir()
	for id, from := range map[string]string{
		"z-lab/tiny-DFlash": enginetest.TinyDrafter(t, nil),
		"me/tiny-DFlash2":   enginetest.TinyDFlash2(t, 259, []int{0, 2}, nil),
		"me/tiny-MTP":       enginetest.TinyHead(t, nil),
		"me/tiny-assistant": enginetest.TinyModel(t, "llama"), // a whole model of that name
		"me/other-DFlash":   enginetest.TinyDrafter(t, nil),
	} {
		snapshot := filepath.Join(cache, "models--"+strings.ReplaceAll(id, "/", "--"), "snapshots",
			strings.Repeat("a", 40))
		if err := errors.Join(os.MkdirAll(filepath.Dir(snapshot), 0o700),
			os.Rename(from, snapshot)); err != nil {
			t.Fatal(err)
		}
	}
	model := tinyModel(t, "qwen3_5", "tiny")
	enginetest.AddTinyHead(t, model)
	r := start(t, setup{Model: model, Hub: hub.Options{CacheDir: cache}})
	for _, x := range []struct {
		set  string
		want []string // name = choice
	}{
		{"auto", []string{"me/tiny-DFlash2 = me/tiny-DFlash2", "z-lab/tiny-DFlash = z-lab/tiny-DFlash",
			"me/tiny-MTP = me/tiny-MTP", "its own MTP head = " + model}},
		{"me/tiny-MTP", []string{"me/tiny-MTP = me/tiny-MTP", "me/tiny-DFlash2 = me/tiny-DFlash2",
			"z-lab/tiny-DFlash = z-lab/tiny-DFlash", "its own MTP head = " + model}},
		{"none", []string{"me/tiny-DFlash2 = me/tiny-DFlash2", "z-lab/tiny-DFlash = z-lab/tiny-DFlash",
			"me/tiny-MTP = me/tiny-MTP", "its own MTP head = " + model}},
	} {
		if _, err := r.pool.Drafter(t.Context(),
			control.DrafterRequest{Model: "tiny", Drafter: x.set}); err != nil {
			t.Fatal(err)
		}
		list, err := r.pool.Candidates(t.Context(), "tiny")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.Name+" = "+c.Choice)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("with %s:\n%s, want\n%s", x.set, strings.Join(got, "\n"),
				strings.Join(x.want, "\n"))
		}
	}
	shown, err := r.pool.ModelSettings(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range shown.Drafters {
		if names = append(names, d.Name); d.Suits == (d.Name == "me/other-DFlash") {
			t.Errorf("%+v", d)
		}
	}
	if want := []string{"me/tiny-DFlash2", "z-lab/tiny-DFlash", "me/tiny-MTP",
		"its own MTP head", "me/other-DFlash"}; !slices.Equal(names, want) {
		t.Errorf("the settings offer %v, want %v", names, want)
	}
}

// The memory of a borrowed drafter counts as the model's until it is given back. One that does not
// fit beside the models in memory is refused.
func TestBorrowedDrafterTakesMemory(t *testing.T) {
	dir := enginetest.TinyDrafter(t, nil)
	r := startWithRoom(t, 3, "a", "b")
	r.wantAnswers(t, "a")
	active := r.thread.Memory().Active
	borrowed := func() *Model { // a measurement does not hold it
		m := r.acquire(t, "a").(*Model)
		m.Release()
		return m
	}
	m := borrowed()
	before := m.need().Bytes()
	d, err := m.BorrowDrafter(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.need().Bytes() - before; got < d.Bytes() || d.Bytes() == 0 {
		t.Errorf("a drafter of %d bytes counts as %d", d.Bytes(), got)
	}
	if err := d.GiveBack(); err != nil {
		t.Error(err)
	}
	if now := r.thread.Memory().Active; m.need().Bytes() != before || now != active {
		t.Errorf("%d bytes count after it was given back, %d before; MLX has %d, had %d",
			m.need().Bytes(), before, now, active)
	}
	if _, err := m.BorrowDrafter(t.Context(), filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a drafter that is not there is lent")
	}

	r = startWithRoom(t, 1, "a")
	r.wantAnswers(t, "a")
	m = borrowed()
	before = m.need().Bytes()
	_, err = m.BorrowDrafter(t.Context(), dir)
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Code != control.CodeMemory ||
		!strings.HasSuffix(e.Message, "are left.") {
		t.Errorf("a drafter that does not fit: %v", err)
	}
	if m.need().Bytes() != before {
		t.Errorf("%d bytes count after the refusal, %d before", m.need().Bytes(), before)
	}
}
