//go:build !ui

// Package frontend holds the files of the interface that the endpoint serves.
// Without the build tag ui there are none, and the endpoint shows its own
// small page; so Go code builds and its tests run without Node.
package frontend

import (
	"embed"
	"io/fs"
)

// Files returns the interface, index.html at its root; empty without tag ui.
func Files() fs.FS { return embed.FS{} }
