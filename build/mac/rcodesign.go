package mac

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"tandem/build/setup"
)

// rcodesignEntry is where rcodesign is kept once it was compiled.
func rcodesignEntry() setup.Entry {
	return setup.Entry{Name: "rcodesign-" + setup.RcodesignVersion, Inputs: []string{setup.RcodesignVersion, "no default features"}}
}

// rcodesign is the path of the tool that signs where there is no Mac, empty if there is none of the pinned version:
// that which setupRcodesign compiled, or one that somebody else installed.
func (b *builder) rcodesign(ctx context.Context) string {
	if e := rcodesignEntry(); b.Cache.Complete(e) {
		return filepath.Join(b.Cache.Path(e), "bin", "rcodesign")
	}
	path, err := exec.LookPath("rcodesign")
	if err != nil {
		return ""
	}
	if version, err := b.Output(b.Command(ctx, path, "--version")); err != nil || version != "apple-codesign "+setup.RcodesignVersion {
		return ""
	}
	return path
}

// setupRcodesign compiles rcodesign, which takes some minutes, unless it is there: without what uploads to Apple, which
// is much of it and signs nothing.
func (b *builder) setupRcodesign(ctx context.Context) error {
	if b.rcodesign(ctx) != "" {
		return nil
	}
	_, err := b.Cache.Ensure(ctx, rcodesignEntry(), func(dir string) error {
		target := filepath.Join(dir, "target")
		if err := b.Step("rcodesign "+setup.RcodesignVersion+": compile", b.Command(ctx, "cargo", "install", "--locked", "--quiet",
			"--version", setup.RcodesignVersion, "--no-default-features", "--root", dir, "--target-dir", target, "apple-codesign")); err != nil {
			return err
		}
		return os.RemoveAll(target)
	})
	return err
}
