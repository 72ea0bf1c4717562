package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mostInterface is how many bytes the interface may weigh, gzipped.
const mostInterface = 250_000

// desktopBench is the bench of what a person sees. It runs no `tandem bench`: it looks from outside.
const desktopBench = "desktop"

// benchDesktop measures the menu bar and the window on a display of its own, and weighs the interface. What it prints
// stays in build/out/bench/desktop.txt, that of a bar which is missed too: it is an error then.
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
	heavy := weighInterface(w, filepath.Join(b.root, frontendDir, "dist"))
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
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("menu bar and window: %w", err)
	}
	err = errors.Join(heavy, err)
	result := filepath.Join(b.root, "build", "out", "bench", desktopBench+".txt")
	if mkdir := os.MkdirAll(filepath.Dir(result), 0o755); mkdir != nil {
		return errors.Join(err, mkdir)
	}
	return errors.Join(err, os.WriteFile(result, text.Bytes(), 0o644))
}

// weighInterface tells what the built interface below dir weighs; more than it may is an error.
func weighInterface(w io.Writer, dir string) error {
	n, err := weigh(dir)
	if err != nil {
		return err
	}
	if n > mostInterface {
		fmt.Fprintf(w, "interface: %d bytes gzipped; %d at most: missed\n", n, mostInterface)
		return fmt.Errorf("the interface weighs %d bytes gzipped, and may weigh %d: take out what it can do without", n, mostInterface)
	}
	fmt.Fprintf(w, "interface: %d bytes gzipped; %d at most: met\n", n, mostInterface)
	return nil
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
