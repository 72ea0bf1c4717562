package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// rcodesignEntry is where rcodesign is kept once it was compiled.
func rcodesignEntry() entry {
	return entry{name: "rcodesign-" + rcodesignVersion, inputs: []string{rcodesignVersion, "no default features"}}
}

// rcodesign is the path of the tool that signs where there is no Mac, empty if there is none of the pinned version:
// that which setupRcodesign compiled, or one that somebody else installed.
func (b *builder) rcodesign(ctx context.Context) string {
	if e := rcodesignEntry(); b.cache.complete(e) {
		return filepath.Join(b.cache.path(e), "bin", "rcodesign")
	}
	path, err := exec.LookPath("rcodesign")
	if err != nil {
		return ""
	}
	if version, err := b.output(b.command(ctx, path, "--version")); err != nil || version != "apple-codesign "+rcodesignVersion {
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
	_, err := b.cache.ensure(ctx, rcodesignEntry(), func(dir string) error {
		target := filepath.Join(dir, "target")
		if err := b.step("rcodesign "+rcodesignVersion+": compile", b.command(ctx, "cargo", "install", "--locked", "--quiet",
			"--version", rcodesignVersion, "--no-default-features", "--root", dir, "--target-dir", target, "apple-codesign")); err != nil {
			return err
		}
		return os.RemoveAll(target)
	})
	return err
}
