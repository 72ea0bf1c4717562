package bench

import (
	"context"
	"log/slog"
	"testing"
)

// These tests need a whole Tandem. Package app imports this one, so package bench_test fills them
// in.
var (
	// OpenApp is Options.Open.
	OpenApp func(ctx context.Context, drafter string) (Stage, error)
	// ServeApp serves the model in a folder on a free port until the test ends. It returns the
	// address and the home folder.
	ServeApp func(t *testing.T, o AppOptions) (url, home string)
)

// AppOptions of ServeApp.
type AppOptions struct {
	Model         string
	Logger        *slog.Logger
	NoCheckpoints bool
}
