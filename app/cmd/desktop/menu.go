//go:build desktop

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wailsapp/wails/v2/pkg/menu"
	"github.com/wailsapp/wails/v2/pkg/menu/keys"
)

// A shortcut is a row of the interface's table of keys.
type shortcut struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Menu string `json:"menu"`
	Key  string `json:"key"`  // empty for an entry of the menu alone
	With string `json:"with"` // empty, cmd, shift+cmd or alt+cmd
}

// readShortcuts reads the interface's table of keys.
func readShortcuts(table []byte) (list []shortcut, err error) {
	if err := json.Unmarshal(table, &list); err != nil {
		return nil, fmt.Errorf("the table of keys cannot be read: %w", err)
	}
	return list, nil
}

// modifiers are the words of the table for the keys that are held.
var modifiers = map[string]keys.Modifier{"cmd": keys.CmdOrCtrlKey, "shift": keys.ShiftKey,
	"alt": keys.OptionOrAltKey}

// accelerator returns the key of an entry, nil for a key that works in one place of the page alone.
// Such a key is left to the page: with an entry, Escape would stop an answer instead of closing a
// menu.
func (s shortcut) accelerator() (*keys.Accelerator, error) {
	if s.With == "" {
		return nil, nil
	}
	a := &keys.Accelerator{Key: s.Key}
	for _, name := range strings.Split(s.With, "+") {
		m, ok := modifiers[name]
		if !ok {
			return nil, fmt.Errorf("%s has the unknown key %q", s.ID, name)
		}
		a.Modifiers = append(a.Modifiers, m)
	}
	return a, nil
}

// label returns the text of an entry. It names a key that the entry cannot have as its own.
func (s shortcut) label() string {
	switch {
	case s.With != "", s.Key == "":
		return s.Name
	case s.Key == "up":
		return s.Name + " (↑)"
	case s.Key == "escape":
		return s.Name + " (Esc)"
	}
	return s.Name + " (" + s.Key + ")"
}

// newMenu returns the application menu: File, Edit, View, Window and Help. act does the action of an
// entry, and end closes the window. The system itself knows the entries of Edit and Window.
func newMenu(list []shortcut, act func(id string), end func()) (*menu.Menu, error) {
	file, view, help := menu.NewMenu(), menu.NewMenu(), menu.NewMenu()
	menus := map[string]*menu.Menu{"File": file, "View": view, "Help": help}
	for _, s := range list {
		m := menus[s.Menu]
		if m == nil {
			return nil, fmt.Errorf("%s has the unknown menu %q", s.ID, s.Menu)
		}
		key, err := s.accelerator()
		if err != nil {
			return nil, err
		}
		m.Append(menu.Text(s.label(), key, func(*menu.CallbackData) { act(s.ID) }))
	}
	file.Append(menu.Separator())
	file.Append(menu.Text("Close the window", keys.CmdOrCtrl("w"),
		func(*menu.CallbackData) { end() }))
	return menu.NewMenuFromItems(menu.AppMenu(), menu.SubMenu("File", file), menu.EditMenu(),
		menu.SubMenu("View", view), menu.WindowMenu(), menu.SubMenu("Help", help)), nil
}
