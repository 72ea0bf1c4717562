package setup

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// SetUp does the work of SetUpEngine, and builds the interface that is part of tandem. First it
// installs the system packages for this and the packages in more, before any step that takes
// minutes.
func (b *Builder) SetUp(ctx context.Context, more ...[]Requirement) error {
	if err := b.Install(ctx, slices.Concat(append(more, SetupRequirements())...)); err != nil {
		return err
	}
	if err := b.SetUpEngine(ctx); err != nil {
		return err
	}
	return b.setupFrontend(ctx)
}

// SetUpEngine makes the folders that the #cgo lines refer to, and fetches the starter model. It takes
// a few milliseconds if everything exists.
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
	if err := b.setupStarter(ctx, pip); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "setup: ready in %s\n", Seconds(time.Since(start)))
	return nil
}
