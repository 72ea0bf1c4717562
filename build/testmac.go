package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// testMac builds the app for a Mac as far as this machine can, and looks at it: the folder, and the archive. Before
// that it checks the types of what only a Mac compiles: both programs with a face, and what the bundle's tag changes.
func testMac(ctx context.Context, b *builder) error {
	start := time.Now()
	if err := b.setup(ctx); err != nil {
		return err
	}
	if err := b.setupFrontend(ctx); err != nil {
		return err
	}
	for _, tags := range []string{"", "desktop,production,ui,bundle"} {
		began := time.Now()
		if err := b.checkDarwinTags(ctx, tags); err != nil {
			return fmt.Errorf("types for darwin/arm64, tags %q: %w", tags, err)
		}
		fmt.Fprintf(b.out, "types for darwin/arm64, tags %q: %s\n", tags, seconds(time.Since(began)))
	}
	a, err := b.makeApp(ctx)
	if err != nil {
		return err
	}
	if err := b.handOn(ctx, a, ""); err != nil {
		return err
	}
	a.report(b)
	if err := b.archiveHolds(a); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "test mac: %s\n", seconds(time.Since(start)))
	return nil
}

// archiveHolds fails unless the archive holds the bundle that it was made from.
func (b *builder) archiveHolds(a *appBundle) error {
	archives, err := filepath.Glob(filepath.Join(b.appOut(), "Tandem-"+a.product.Info.ProductVersion+"*.zip"))
	if err != nil {
		return err
	}
	if len(archives) != 1 {
		return fmt.Errorf("%d archives of this version in %s, want one", len(archives), b.appOut())
	}
	found, err := validateArchive(archives[0], a.expected)
	if err != nil {
		return err
	}
	if got, want := found.table(), a.result.table(); got != want {
		return fmt.Errorf("the archive holds\n%sthe bundle has\n%s", got, want)
	}
	fmt.Fprintf(b.out, "%s holds the same\n", archives[0])
	return errors.Join(found.findings...)
}
