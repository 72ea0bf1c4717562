package ui

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tandem/build/setup"
)

const (
	// firstPaint is what the window loads before it shows anything: index.html, style and script.
	firstPaint = "first paint"

	// mostFirst is the most bytes that the first paint may have, gzipped.
	mostFirst = 120_000
)

// sizesFile has the size of each page at the last commit that explained one, in gzipped bytes.
const sizesFile = "build/ui/sizes.json"

// CheckSizes prints what the first paint loads, and what each page loads that is not part of it. It
// returns an error if the first paint is too large, if one of them is more than a tenth larger or
// smaller than recorded, or if the record has other pages.
func CheckSizes(_ context.Context, b *setup.Builder) error {
	dist := filepath.Join(b.Root, setup.FrontendDir, "dist")
	pages, err := weighPages(os.DirFS(dist))
	if err != nil {
		return fmt.Errorf("weigh the interface: %w; build it with `go run ./build setup`", err)
	}
	text, err := os.ReadFile(filepath.Join(b.Root, sizesFile))
	if err != nil {
		return err
	}
	var recorded map[string]int
	if err := json.Unmarshal(text, &recorded); err != nil {
		return fmt.Errorf("%s: %w", sizesFile, err)
	}
	return compareSizes(b.Out, pages, recorded)
}

// compareSizes prints the pages, and holds them to the recorded sizes.
func compareSizes(w io.Writer, pages map[string]size, recorded map[string]int) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		p := pages[name]
		was, known := recorded[name]
		fmt.Fprintf(w, "interface, %s: %d bytes, gzipped %d, recorded %d\n", name, p.plain, p.packed,
			was)
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%s has no size for %s: write %d for it", sizesFile, name,
				p.packed))
		case p.packed*10 > was*11:
			errs = append(errs, fmt.Errorf("%s has grown by more than a tenth: write %d for it into %s, "+
				"and say in the commit what it is for", name, p.packed, sizesFile))
		case p.packed*10 < was*9:
			errs = append(errs, fmt.Errorf("%s is smaller by more than a tenth: write %d for it into %s",
				name, p.packed, sizesFile))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if _, ok := pages[name]; !ok {
			errs = append(errs, fmt.Errorf("the interface has no page %s: take it out of %s", name,
				sizesFile))
		}
	}
	if first := pages[firstPaint].packed; first > mostFirst {
		errs = append(errs, fmt.Errorf("the first paint loads %d bytes gzipped, and %d are allowed: "+
			"load what is not shown at once with import()", first, mostFirst))
	}
	return errors.Join(errs...)
}

// A size is the total of some files, in bytes.
type size struct{ plain, packed int } // packed is gzipped, file by file

// A chunk is a file of the script in Vite's manifest.
type chunk struct {
	File           string   `json:"file"`
	Name           string   `json:"name"`
	IsEntry        bool     `json:"isEntry"`
	IsDynamicEntry bool     `json:"isDynamicEntry"`
	Imports        []string `json:"imports"` // keys of chunks
	CSS            []string `json:"css"`
}

// weighPages returns the size of the first paint, and what each page adds to it, by the name of its
// file without the extension. A file that two pages share counts for both.
func weighPages(dist fs.FS) (map[string]size, error) {
	text, err := fs.ReadFile(dist, ".vite/manifest.json")
	if err != nil {
		return nil, err
	}
	var chunks map[string]chunk
	if err := json.Unmarshal(text, &chunks); err != nil {
		return nil, fmt.Errorf("read Vite's manifest: %w", err)
	}
	first := map[string]bool{"index.html": true}
	for key, c := range chunks {
		if c.IsEntry {
			addFiles(first, chunks, key)
		}
	}
	pages := map[string]size{}
	if pages[firstPaint], err = weigh(dist, first); err != nil {
		return nil, err
	}
	for key, c := range chunks {
		if !c.IsDynamicEntry {
			continue
		}
		own := map[string]bool{}
		addFiles(own, chunks, key)
		maps.DeleteFunc(own, func(file string, _ bool) bool { return first[file] })
		if pages[c.Name], err = weigh(dist, own); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// addFiles adds the files of a chunk and of all that it imports.
func addFiles(files map[string]bool, chunks map[string]chunk, key string) {
	c := chunks[key]
	if files[c.File] {
		return
	}
	files[c.File] = true
	for _, style := range c.CSS {
		files[style] = true
	}
	for _, other := range c.Imports {
		addFiles(files, chunks, other)
	}
}

// weigh returns the size of some files.
func weigh(dist fs.FS, files map[string]bool) (size, error) {
	var sum size
	for file := range files {
		content, err := fs.ReadFile(dist, file)
		if err != nil {
			return size{}, err
		}
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return size{}, err
		}
		if _, err := z.Write(content); err != nil {
			return size{}, err
		}
		if err := z.Close(); err != nil {
			return size{}, err
		}
		sum.plain += len(content)
		sum.packed += packed.Len()
	}
	return sum, nil
}
