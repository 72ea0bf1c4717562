package models

import (
	"errors"
	"io"
	"io/fs"

	"tandem/models/pocket"
	"tandem/models/starter"
	"tandem/storage/disk"
)

// Names of the drafters that are embedded in the program, in place of a folder.
const (
	PocketDrafter  = PocketID + "/" + pocket.Drafter   // served with the pocket model
	StarterDrafter = StarterID + "/" + starter.Drafter // served with the starter
)

// builtIn returns the files of an embedded model or drafter, nil if there is none of that name.
func builtIn(name string) fs.FS {
	switch name {
	case PocketID:
		return pocket.Files()
	case PocketDrafter:
		return pocket.DrafterFiles()
	case StarterDrafter:
		return starter.DrafterFiles()
	}
	return nil
}

// IsBuiltInDrafter reports whether a drafter of that name is embedded in this program.
func IsBuiltInDrafter(name string) bool {
	return name == PocketDrafter || name == StarterDrafter
}

// BuiltInDrafter returns the name of the embedded drafter of a model by its file. It is empty if the
// file is not the starter's. The drafters of embedded models have names of their own, see
// PocketDrafter.
func BuiltInDrafter(file string) string {
	if file == "" || !IsStarter(file) {
		return ""
	}
	return StarterDrafter
}

// IsStarter reports whether a file is that of the starter, whatever its name.
func IsStarter(file string) bool {
	// Most models are folders. One that does not answer is not waited for again, see disk.Stat.
	info, err := disk.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := disk.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return starter.Is(f, info.Size())
}

// OpenDrafter is [Open], or the files of a built-in drafter by its name.
func OpenDrafter(source string) (*Files, error) {
	if IsBuiltInDrafter(source) {
		return OpenFS(builtIn(source), source), nil
	}
	return Open(source)
}

// CopyPocketWeights writes the weights of the pocket model and of its drafter. They tell the builds
// of this program apart.
func CopyPocketWeights(w io.Writer) error {
	if err := copyWeights(w, pocket.Files()); err != nil {
		return err
	}
	return CopyDrafterWeights(w, PocketDrafter)
}

// CopyDrafterWeights writes the weights of a built-in drafter, and nothing for another name.
func CopyDrafterWeights(w io.Writer, name string) error {
	if !IsBuiltInDrafter(name) {
		return nil
	}
	return copyWeights(w, builtIn(name))
}

func copyWeights(w io.Writer, folder fs.FS) error {
	f, err := folder.Open("model.safetensors")
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
