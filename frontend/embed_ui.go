//go:build ui

package frontend

import (
	"embed"
	"io/fs"
)

// dist is what `go run ./build setup` has Vite build.
//
//go:embed dist/index.html dist/assets
var dist embed.FS

// Files returns the interface, index.html at its root.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a good one
	}
	return files
}
