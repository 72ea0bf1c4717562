package main

import (
	"context"
	"fmt"

	"tandem/build/setup"
)

// setupVerb installs everything that go build needs, or empties the cache.
func setupVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("setup")
	clean := set.Bool("clean", false,
		"empty the cache that all checkouts share, except for the training of the pocket model, and set nothing up")
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if *clean {
		fmt.Fprintf(b.Out, "empty %s (the training in %s stays)\n", b.Cache.Dir, pocketCache)
		return b.Cache.Clean(ctx, pocketCache)
	}
	return b.SetUp(ctx)
}
