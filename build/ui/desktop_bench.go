package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tandem/build/program"
	"tandem/build/setup"
)

// DesktopBench is the name of the bench for what a person sees. It measures from outside, so it
// runs no `tandem bench`.
const DesktopBench = "desktop"

// BenchDesktop measures the menu bar and the window on a display of its own. Its output stays in
// build/out/bench/desktop.txt, also when a bar is missed. A missed bar is an error.
func BenchDesktop(ctx context.Context, b *setup.Builder) error {
	if err := b.SetUp(ctx, program.DesktopRequirements(), Requirements()); err != nil {
		return err
	}
	p, err := program.BuildDesktop(ctx, b)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	w := io.MultiWriter(b.Out, &text)
	home, err := os.MkdirTemp("", "tandem-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.MkdirAll(uiOut(b), 0o755); err != nil { // for the picture of a failure
		return err
	}
	cmd := onDisplay(ctx, b, p, home, "bench.sh")
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("menu bar and window: %w", err)
	}
	result := filepath.Join(b.Root, "build", "out", "bench", DesktopBench+".txt")
	if mkdir := os.MkdirAll(filepath.Dir(result), 0o755); mkdir != nil {
		return errors.Join(err, mkdir)
	}
	return errors.Join(err, os.WriteFile(result, text.Bytes(), 0o644))
}
