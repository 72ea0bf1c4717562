package ui

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A bar is the most bytes that files may have together.
type bar struct {
	kind          string // extension of their names; empty = all files
	plain, packed int    // as they are, and gzipped
}

// bars are those of the interface. The window shows nothing before it has its script and its style.
var bars = []bar{
	{kind: ".js", plain: 403_000, packed: 142_000},
	{kind: ".css", plain: 28_000, packed: 7_000},
	{kind: "", plain: 440_000, packed: 152_000},
}

func (b bar) files() string { return strings.TrimSpace(b.kind + " files") }

// weighInterface prints the size of the built interface below dir, in bytes. It returns an error if a
// kind of file is above its bar.
func weighInterface(w io.Writer, dir string) error {
	var errs []error
	for _, b := range bars {
		plain, packed, err := weigh(dir, b.kind)
		if err != nil {
			return err
		}
		met := "met"
		if plain > b.plain || packed > b.packed {
			met = "missed"
			errs = append(errs, fmt.Errorf("the %s of the interface have %d bytes, %d gzipped; "+
				"at most %d and %d are allowed, so take something out", b.files(), plain, packed, b.plain, b.packed))
		}
		fmt.Fprintf(w, "interface, %s: %d bytes, %d at most; gzipped %d, %d at most: %s\n",
			b.files(), plain, b.plain, packed, b.packed, met)
	}
	return errors.Join(errs...)
}

// weigh returns the bytes of the files of a kind below dir, and the bytes after each is gzipped. It
// returns an error if there is no such file.
func weigh(dir, kind string) (plain, packed int, err error) {
	var total countingWriter
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || kind != "" && filepath.Ext(name) != kind {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		plain += len(content)
		z, err := gzip.NewWriterLevel(&total, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(content); err != nil {
			return err
		}
		return z.Close()
	})
	if err == nil && plain == 0 {
		err = fmt.Errorf("%s has no files %s; build the interface with `go run ./build setup`", dir, kind)
	}
	return plain, int(total), err
}

// A countingWriter counts bytes.
type countingWriter int

func (n *countingWriter) Write(p []byte) (int, error) {
	*n += countingWriter(len(p))
	return len(p), nil
}
