//go:build desktop

package main

import (
	"github.com/getlantern/systray"

	"tandem/app/menu"
)

// A tray is a screen that draws with systray. It is used by one goroutine at a time.
type tray struct {
	icons map[menu.Icon][]byte          // kept: the library hands them to C, which reads them later
	items [menu.Slots]*systray.MenuItem // nil where there is a line
}

// newTray makes all rows, hidden. It calls clicked for each click, on a separate goroutine.
func newTray(clicked func(menu.Slot)) *tray {
	t := &tray{icons: map[menu.Icon][]byte{}}
	for _, i := range []menu.Icon{menu.Idle, menu.Loading, menu.Generating, menu.Failed} {
		t.icons[i] = iconPNG(i)
	}
	for i := range t.items {
		slot := menu.Slot(i)
		if slot.IsLine() {
			systray.AddSeparator()
			continue
		}
		add := systray.AddMenuItemCheckbox
		if parent, inside := slot.Parent(); inside {
			add = t.items[parent].AddSubMenuItemCheckbox
		}
		item := add("", "", false)
		item.Hide()
		t.items[i] = item
		go func() {
			for range item.ClickedCh {
				clicked(slot)
			}
		}()
	}
	return t
}

// SetIcon implements menu.Surface.
func (t *tray) SetIcon(i menu.Icon) {
	systray.SetTemplateIcon(t.icons[i], t.icons[i])
}

// SetTitle implements menu.Surface.
func (t *tray) SetTitle(s string) { systray.SetTitle(s) }

// SetTooltip implements menu.Surface.
func (t *tray) SetTooltip(s string) { systray.SetTooltip(s) }

// mark implements screen.
func (t *tray) mark(s menu.Slot, r menu.Row) {
	if r.Checked {
		t.items[s].Check()
	} else {
		t.items[s].Uncheck()
	}
}

// SetRow implements menu.Surface.
func (t *tray) SetRow(s menu.Slot, before, after menu.Row) {
	item := t.items[s]
	if !after.Shown {
		item.Hide()
		return
	}
	if !before.Shown || before.Title != after.Title {
		item.SetTitle(after.Title)
	}
	if !before.Shown || before.Checked != after.Checked {
		t.mark(s, after)
	}
	if !before.Shown || before.Enabled != after.Enabled {
		if after.Enabled {
			item.Enable()
		} else {
			item.Disable()
		}
	}
	if !before.Shown {
		item.Show()
	}
}
