//go:build desktop

package main

import (
	"strings"
	"testing"

	"tandem/app/menu"
)

// A row shows its newest content, even if it showed other content before it was hidden. A click
// names the slot of its row. Nothing is drawn, because the system's loop does not run.
func TestRowShowsItsNewestContent(t *testing.T) {
	clicks := make(chan menu.Slot)
	tr := newTray(func(s menu.Slot) { clicks <- s })
	a := menu.Row{Shown: true, Title: "one", Checked: true, Enabled: true}
	b := menu.Row{Shown: true, Title: "two"}
	for _, slot := range []menu.Slot{menu.Status, menu.Requests, menu.Requests + 1, menu.Quit} {
		item, before := tr.items[slot], menu.Row{}
		for _, after := range []menu.Row{a, b, a, {}, b, {}, a} {
			tr.SetRow(slot, before, after)
			before = after
			if after.Shown && (!strings.Contains(item.String(), `"`+after.Title+`"`) ||
				item.Checked() != after.Checked || item.Disabled() == after.Enabled) {
				t.Errorf("slot %d: %s, checked %t, disabled %t, want %+v",
					slot, item, item.Checked(), item.Disabled(), after)
			}
		}
		tr.mark(slot, b)
		if item.Checked() {
			t.Errorf("slot %d: the mark stays", slot)
		}
		item.ClickedCh <- struct{}{}
		if got := <-clicks; got != slot {
			t.Errorf("a click on slot %d counts for %d", slot, got)
		}
	}
}
