package setup

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// SetUp does the work of SetUpEngine, and builds the interface that is part of tandem. It first
// installs the system packages for that and those in more, before anything that takes minutes.
func (b *Builder) SetUp(ctx context.Context, more ...[]Requirement) error {
	if err := b.Install(ctx, slices.Concat(append(more, SetupRequirements())...)); err != nil {
		return err
	}
	if err := b.SetUpEngine(ctx); err != nil {
		return err
	}
	return b.setupFrontend(ctx)
}

// SetUpEngine makes what the #cgo lines refer to. It takes a few milliseconds when everything is
// there.
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
