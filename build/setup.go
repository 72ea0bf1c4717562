package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// setupVerb installs everything that go build needs, or empties the cache.
func setupVerb(ctx context.Context, b *builder, args []string) error {
	set := newFlags("setup")
	clean := set.Bool("clean", false, "empty the cache that all checkouts share, all but the training of the pocket model, and set nothing up")
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if *clean {
		fmt.Fprintf(b.out, "empty %s (hours of training in %s stay)\n", b.cache.dir, pocketCache)
		return b.cache.clean(ctx, pocketCache)
	}
	return b.setupAll(ctx)
}

// setupAll sets up the interface too, which tandem is built with. What of the system that or more needs is installed
// before anything that takes minutes.
func (b *builder) setupAll(ctx context.Context, more ...[]requirement) error {
	if err := b.install(ctx, slices.Concat(append(more, setupRequirements())...)); err != nil {
		return err
	}
	if err := b.setup(ctx); err != nil {
		return err
	}
	return b.setupFrontend(ctx)
}

// setup makes what the #cgo lines refer to. It costs a few milliseconds when everything is there.
func (b *builder) setup(ctx context.Context) error {
	start := time.Now()
	if err := b.installSystem(ctx); err != nil {
		return err
	}
	pip, err := b.pipPython(ctx)
	if err != nil {
		return err
	}
	if err := b.setupMLX(ctx, pip); err != nil {
		return err
	}
	if err := b.setupNative(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "setup: ready in %s\n", seconds(time.Since(start)))
	return nil
}
