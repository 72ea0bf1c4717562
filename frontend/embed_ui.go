//go:build ui

package frontend

import (
	"embed"
	"io/fs"
)

// dist holds the files that Vite builds for `go run ./build setup`. The name of one may begin with _,
// which Go leaves out without all.
//
//go:embed dist/index.html all:dist/assets
var dist embed.FS

// Files returns the interface, with index.html at its root.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}
