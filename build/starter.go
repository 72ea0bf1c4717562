package main

import (
	"context"

	"tandem/build/setup"
)

// starterVerb trains the drafter of the starter model. The starter itself is fetched.
func starterVerb(ctx context.Context, b *setup.Builder, args []string) error {
	folder, err := b.StarterFolder(ctx, "")
	if err != nil {
		return err
	}
	return train(ctx, b, "starter", append([]string{"--starter", folder}, args...))
}
