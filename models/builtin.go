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

// builtInDrafter returns the files of an embedded drafter, nil if there is none of that name.
func builtInDrafter(name string) fs.FS {
	switch name {
	case PocketDrafter:
		return pocket.DrafterFiles()
	case StarterDrafter:
		return starter.DrafterFiles()
	}
	return nil
}

// IsBuiltInDrafter reports whether a drafter of that name is embedded in this program.
func IsBuiltInDrafter(name string) bool { return builtInDrafter(name) != nil }

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

// openDrafter opens the folder of a drafter, or a built-in one by its name.
func openDrafter(source string) (fs.FS, error) {
	if fsys := builtInDrafter(source); fsys != nil {
		return fsys, nil
	}
	return open(source)
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
	fsys := builtInDrafter(name)
	if fsys == nil {
		return nil
	}
	return copyWeights(w, fsys)
}

func copyWeights(w io.Writer, folder fs.FS) error {
	f, err := folder.Open("model.safetensors")
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
