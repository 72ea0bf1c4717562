package main

import (
	"context"
	"fmt"

	"tandem/build/program"
	"tandem/build/setup"
)

// labVerb builds the program of the lab and says where it is.
func labVerb(ctx context.Context, b *setup.Builder, args []string) error {
	if err := parse(newFlags("lab"), args, 0); err != nil {
		return err
	}
	if err := b.SetUpEngine(ctx); err != nil {
		return err
	}
	path, err := program.BuildLab(ctx, b)
	if err == nil {
		fmt.Fprintln(b.Out, path)
	}
	return err
}
