package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// desktopBench is the bench of what a person sees. It runs no `tandem bench`: it looks from outside.
const desktopBench = "desktop"

// benchDesktop measures the menu bar and the window on a display of its own, and weighs the interface. What it prints
// stays in build/out/bench/desktop.txt.
func (b *builder) benchDesktop(ctx context.Context) error {
	if err := b.setupAll(ctx, desktopRequirements(), uiRequirements()); err != nil {
		return err
	}
	p, err := b.buildDesktop(ctx)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	w := io.MultiWriter(b.out, &text)
	n, err := weigh(filepath.Join(b.root, frontendDir, "dist"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "interface: %d bytes gzipped\n", n)
	home, err := os.MkdirTemp("", "tandem-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.MkdirAll(b.uiOut(), 0o755); err != nil { // for the picture of what failed
		return err
	}
	cmd := b.onDisplay(ctx, p, home, "bench.sh")
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("menu bar and window: %w", err)
	}
	result := filepath.Join(b.root, "build", "out", "bench", desktopBench+".txt")
	if err := os.MkdirAll(filepath.Dir(result), 0o755); err != nil {
		return err
	}
	return os.WriteFile(result, text.Bytes(), 0o644)
}

// weigh returns how many bytes the files below dir take, each gzipped.
func weigh(dir string) (int, error) {
	var total countingWriter
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		z, err := gzip.NewWriterLevel(&total, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(content); err != nil {
			return err
		}
		return z.Close()
	})
	return int(total), err
}

// A countingWriter counts bytes.
type countingWriter int

func (n *countingWriter) Write(p []byte) (int, error) {
	*n += countingWriter(len(p))
	return len(p), nil
}
