package mac

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"tandem/build/setup"
)

// rcodesignEntry is the cache's folder for a compiled rcodesign.
func rcodesignEntry() setup.Entry {
	return setup.Entry{Name: "rcodesign-" + setup.RcodesignVersion,
		Inputs: []string{setup.RcodesignVersion, "no default features"}}
}

// rcodesign returns the path of the tool that signs without a Mac, or "" if there is none of the
// pinned version. setupRcodesign may have compiled it, or the machine has it already.
func (b *builder) rcodesign(ctx context.Context) string {
	if e := rcodesignEntry(); b.Cache.Complete(e) {
		return filepath.Join(b.Cache.Path(e), "bin", "rcodesign")
	}
	path, err := exec.LookPath("rcodesign")
	if err != nil {
		return ""
	}
	if version, err := b.Output(b.Command(ctx, path, "--version")); err != nil ||
		version != "apple-codesign "+setup.RcodesignVersion {
		return ""
	}
	return path
}

// setupRcodesign compiles rcodesign unless it is there. That takes some minutes. It leaves out the
// parts that upload to Apple: they are most of the code and sign nothing.
func (b *builder) setupRcodesign(ctx context.Context) error {
	if b.rcodesign(ctx) != "" {
		return nil
	}
	_, err := b.Cache.Ensure(ctx, rcodesignEntry(), func(dir string) error {
		target := filepath.Join(dir, "target")
		if err := b.Step("rcodesign "+setup.RcodesignVersion+": compile",
			b.Command(ctx, "cargo", "install", "--locked", "--quiet",
				"--version", setup.RcodesignVersion, "--no-default-features", "--root", dir,
				"--target-dir", target, "apple-codesign")); err != nil {
			return err
		}
		return os.RemoveAll(target)
	})
	return err
}
