// Package starter finds the file of the starter model, SmolLM2-135M-Instruct, which people chat with
// before they choose a model. README.md is its card.
//
// The file is fetched by `go run ./build setup`, and never committed: it lies beside the program.
// Where it could not be fetched, the pocket model is served in its place.
//
// The model's drafter is small and has no other home, so it is embedded in the program.
// build/starter is the recipe that made it.
package starter

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Name is the model's id, and the name of its file without the extension.
const Name = "starter"

const file = Name + ".gguf"

// Drafter is the folder of the model's drafter.
const Drafter = "drafter"

//go:embed drafter
var files embed.FS

// DrafterFiles returns the folder of the model's DFlash 2 drafter, config.json and
// model.safetensors.
func DrafterFiles() fs.FS {
	sub, err := fs.Sub(files, Drafter)
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}

// Temperature is the one that answers have unless a request says another; the file names none. At
// the 0.2 that its makers recommend, 5 of 10 answers got the capital of France wrong.
const Temperature = 0.0

// The file is known by its size and by the SHA-256 of its first bytes, which hold its metadata.
const (
	fileBytes = 98_362_432
	headBytes = 64 << 10
	headHash  = "aa601c6c096e043ea663ea686f627d524029ac2cc0c1c51349510cfc1c4f4a98"
)

// Is reports whether a file of size bytes is that of the starter, whatever its name.
func Is(file io.ReaderAt, size int64) bool {
	head := make([]byte, headBytes)
	if size != fileBytes {
		return false
	}
	if n, _ := file.ReadAt(head, 0); n < len(head) {
		return false
	}
	return fmt.Sprintf("%x", sha256.Sum256(head)) == headHash
}

// Beside returns the file that belongs to a program, given the program's path with links resolved:
// models/starter.gguf in the program's folder, or beside a folder bin, as in a Mac's bundle. It is
// empty if there is none.
func Beside(program string) string {
	dir := filepath.Dir(program)
	places := []string{dir}
	if filepath.Base(dir) == "bin" {
		places = append(places, filepath.Dir(dir))
	}
	for _, place := range places {
		path := filepath.Join(place, "models", file)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
