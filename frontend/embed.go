//go:build !ui

// Package frontend holds the files of the interface that the endpoint serves. Without the build tag
// ui it holds none, and the endpoint shows a small page of its own. So Go code builds and its tests
// run without Node.
package frontend

import (
	"embed"
	"io/fs"
)

// Files returns the interface, with index.html at its root. It is empty without the tag ui.
func Files() fs.FS { return embed.FS{} }
