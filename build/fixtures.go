package main

import (
	"context"
	"errors"
	"fmt"

	"tandem/build/fixtures"
	"tandem/build/setup"
)

// fixturesVerb records parity data again, or records a sample elsewhere and compares it with the
// committed data.
func fixturesVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("fixtures")
	check := set.Bool("check", false,
		"record a sample into a temporary folder and compare it with the committed files")
	if err := parse(set, args, len(args)); err != nil {
		return err
	}
	names, err := fixtures.Recorders(b, set.Args())
	if err != nil {
		return err
	}
	if err := b.InstallSystem(ctx); err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if err := fixtures.Record(ctx, b, name, *check); err != nil {
			errs = append(errs, fmt.Errorf("fixtures %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
