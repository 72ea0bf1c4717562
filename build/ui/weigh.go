package ui

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mostInterface is the most bytes that the interface may have, gzipped.
const mostInterface = 250_000

// weighInterface prints the gzipped size of the built interface below dir, in bytes. It returns an
// error if the size is more than mostInterface.
func weighInterface(w io.Writer, dir string) error {
	n, err := weigh(dir)
	if err != nil {
		return err
	}
	if n > mostInterface {
		fmt.Fprintf(w, "interface: %d bytes gzipped; %d at most: missed\n", n, mostInterface)
		return fmt.Errorf("the interface weighs %d bytes gzipped; at most %d are allowed, so take something out",
			n, mostInterface)
	}
	fmt.Fprintf(w, "interface: %d bytes gzipped; %d at most: met\n", n, mostInterface)
	return nil
}

// weigh returns the bytes of the files below dir, each gzipped.
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
