package main

import (
	"context"

	"tandem/build/setup"
)

// retrievalVerb trains the retrieval model, its drafter and its f_theta.
func retrievalVerb(ctx context.Context, b *setup.Builder, args []string) error {
	return train(ctx, b, "retrieval", args)
}
