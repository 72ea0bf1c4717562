//go:build desktop

package main

import (
	"github.com/getlantern/systray"

	"tandem/app/menu"
)

// A tray draws a menu with systray. It is used by one goroutine at a time.
type tray struct {
	items [menu.Slots]*systray.MenuItem // nil where there is a line
}

// newTray makes all rows, hidden. A click is told to clicked, on a goroutine of
// its own.
func newTray(clicked func(menu.Slot)) *tray {
	t := new(tray)
	for i := range t.items {
		slot := menu.Slot(i)
		if slot.IsLine() {
			systray.AddSeparator()
			continue
		}
		item := systray.AddMenuItemCheckbox("", "", false)
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
	b := iconPNG(i)
	systray.SetTemplateIcon(b, b)
}

// SetTitle implements menu.Surface.
func (t *tray) SetTitle(s string) { systray.SetTitle(s) }

// SetTooltip implements menu.Surface.
func (t *tray) SetTooltip(s string) { systray.SetTooltip(s) }

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
		if after.Checked {
			item.Check()
		} else {
			item.Uncheck()
		}
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
