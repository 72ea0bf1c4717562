package linux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// rootSuite is the Debian whose smallest system is the root of the test. It has a shell, tar and
// sha256sum; it has no Go, Rust, Node, Python, compiler or download program.
const rootSuite = "bookworm"

// oldProcessor is the oldest processor the programs have to run on. It has AVX2, and no AVX-512.
const oldProcessor = "Haswell"

func requirements() []setup.Requirement {
	return []setup.Requirement{
		{What: "debootstrap, for a root without a compiler", Apt: "debootstrap", Present: setup.OnPath("debootstrap")},
		{What: "bubblewrap, to run in it", Apt: "bubblewrap", Present: setup.OnPath("bwrap")},
		{What: "QEMU, for a processor with AVX2 alone", Apt: "qemu-user", Present: setup.OnPath("qemu-x86_64")},
	}
}

// Test makes the archive. In a root that has only Debian's smallest system, without a network, it does
// what README.md and app/START.md tell a newcomer, and it asks for an answer on an emulated processor
// that has AVX2 alone.
func Test(ctx context.Context, b *setup.Builder) error {
	start := time.Now()
	if err := b.Install(ctx, requirements()); err != nil {
		return err
	}
	d, err := build(ctx, b, program.Addresses{}, "")
	if err != nil {
		return err
	}
	if err := d.report(b); err != nil {
		return err
	}
	if err := checkReadme(b, d.glibc); err != nil {
		return err
	}
	root, err := b.Cache.Ensure(ctx, setup.Entry{Name: "root-" + rootSuite}, func(dir string) error {
		return b.Step("Debian "+rootSuite+": smallest system", b.Command(ctx, "debootstrap", "--variant=minbase",
			rootSuite, filepath.Join(dir, "root")))
	})
	if err != nil {
		return err
	}
	if err := walkIn(ctx, b, filepath.Join(root, "root"), filepath.Dir(d.archive)); err != nil {
		return err
	}
	if err := answersOn(ctx, b, oldProcessor, filepath.Join(d.tree, "tandem")); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "test dist: %s\n", setup.Seconds(time.Since(start)))
	return nil
}

// answersOn asks the program for an answer on an emulated processor.
func answersOn(ctx context.Context, b *setup.Builder, processor, tandem string) error {
	home, err := os.MkdirTemp("", "dist-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	start := time.Now()
	cmd := b.Command(ctx, "qemu-x86_64", "-cpu", processor, tandem, "run", "--raw", "--max-tokens", "1", "The capital of France is")
	cmd.Env = append(cmd.Env, "TANDEM_HOME="+home)
	out, err := b.Output(cmd)
	if err != nil {
		return err
	}
	if !strings.Contains(out, "Paris") {
		return fmt.Errorf("the answer on an emulated %s is %q", processor, out)
	}
	fmt.Fprintf(b.Out, "answer on an emulated %s, %s: %s\n", processor, setup.Seconds(time.Since(start)), out)
	return nil
}

// checkReadme returns an error unless README.md names the glibc that the archive needs, or a newer one.
func checkReadme(b *setup.Builder, glibc string) error {
	text, err := os.ReadFile(filepath.Join(b.Root, "README.md"))
	if err != nil {
		return err
	}
	_, named, _ := strings.Cut(string(text), "glibc ")
	named = strings.FieldsFunc(named+" ", func(r rune) bool { return r != '.' && (r < '0' || r > '9') })[0]
	if named == "" || newer(glibc, named) {
		return fmt.Errorf("README.md promises to run on glibc %q; the archive needs %s", named, glibc)
	}
	return nil
}
