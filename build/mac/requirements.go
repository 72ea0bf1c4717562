package mac

import (
	"context"

	"tandem/build/setup"
)

// Requirements returns what only the app for a Mac needs. The verbs that make the app install it
// where rustup can.
func Requirements() []setup.Requirement {
	return []setup.Requirement{{What: "Rust for " + setup.MacTriple, Hint: "rustup target add " +
		setup.MacTriple, Present: func(ctx context.Context, b *setup.Builder) bool {
		return b.HasRustTarget(ctx, setup.MacTriple)
	}}}
}
