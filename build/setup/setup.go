package setup

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// SetUp sets up the interface too, which tandem is built with. What of the system that or more needs is installed
// before anything that takes minutes.
func (b *Builder) SetUp(ctx context.Context, more ...[]Requirement) error {
	if err := b.Install(ctx, slices.Concat(append(more, SetupRequirements())...)); err != nil {
		return err
	}
	if err := b.SetUpEngine(ctx); err != nil {
		return err
	}
	return b.setupFrontend(ctx)
}

// SetUpEngine makes what the #cgo lines refer to. It costs a few milliseconds when everything is there.
func (b *Builder) SetUpEngine(ctx context.Context) error {
	start := time.Now()
	if err := b.InstallSystem(ctx); err != nil {
		return err
	}
	pip, err := b.PipPython(ctx)
	if err != nil {
		return err
	}
	if err := b.setupMLX(ctx, pip); err != nil {
		return err
	}
	if err := b.setupNative(ctx); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "setup: ready in %s\n", Seconds(time.Since(start)))
	return nil
}
