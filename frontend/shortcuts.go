package frontend

import _ "embed"

// table is what the interface's own table of keys is made of.
//
//go:embed src/parts/shortcuts.json
var table []byte

// Shortcuts returns the keys of the interface, as JSON. The window's menu is made of them.
func Shortcuts() []byte { return table }
