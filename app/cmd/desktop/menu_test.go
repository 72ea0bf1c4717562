//go:build desktop

package main

import (
	"slices"
	"testing"

	"github.com/wailsapp/wails/v2/pkg/menu"

	"tandem/frontend"
)

// The menu has every key of the interface's table, and chooses its action.
func TestMenuHasEveryKey(t *testing.T) {
	list, err := readShortcuts(frontend.Shortcuts())
	if err != nil {
		t.Fatal(err)
	}
	var acted []string
	m, err := newMenu(list, func(id string) { acted = append(acted, id) },
		func() { acted = append(acted, "end") })
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	entries := map[string]*menu.MenuItem{}
	for _, top := range m.Items {
		titles = append(titles, top.Label)
		if top.SubMenu == nil {
			continue
		}
		for _, item := range top.SubMenu.Items {
			entries[item.Label] = item
		}
	}
	if want := []string{"", "File", "", "View", "", "Help"}; !slices.Equal(titles, want) {
		t.Errorf("the menus are %q, want %q: those without a label are the system's", titles, want)
	}
	for _, s := range list {
		item := entries[s.label()]
		if item == nil {
			t.Errorf("there is no entry for %s", s.ID)
			continue
		}
		if (item.Accelerator != nil) != (s.With != "") {
			t.Errorf("%s has the key %v", s.ID, item.Accelerator)
		}
		if item.Accelerator != nil && item.Accelerator.Key != s.Key {
			t.Errorf("%s has the key %q, want %q", s.ID, item.Accelerator.Key, s.Key)
		}
		acted = nil
		item.Click(nil)
		if !slices.Equal(acted, []string{s.ID}) {
			t.Errorf("the entry of %s does %q", s.ID, acted)
		}
	}
	if len(list) < 14 {
		t.Errorf("the table has %d keys, want 14 or more", len(list))
	}
}

func TestMenuRefusesWrongTable(t *testing.T) {
	for name, list := range map[string][]shortcut{
		"menu": {{ID: "a", Menu: "Tools", Key: "a", With: "cmd"}},
		"key":  {{ID: "a", Menu: "File", Key: "a", With: "hyper"}},
	} {
		if _, err := newMenu(list, nil, nil); err == nil {
			t.Errorf("an unknown %s is accepted", name)
		}
	}
	if _, err := readShortcuts([]byte("{")); err == nil {
		t.Error("a broken table is accepted")
	}
}
