package program

import (
	"context"
	"path/filepath"

	"tandem/build/setup"
)

// BuildTandem builds the command line program with the interface inside, puts a link to the starter
// model beside it, and returns its path. The interface has to be set up.
func BuildTandem(ctx context.Context, b *setup.Builder) (string, error) {
	path := programsOf(b).Tandem
	product, err := ReadProduct(b)
	if err != nil {
		return "", err
	}
	if err := b.PlaceStarter(filepath.Join(filepath.Dir(path), "models",
		setup.StarterFile)); err != nil {
		return "", err
	}
	return path, b.Step("tandem: build", b.Command(ctx, "go", "build", "-tags", "ui", "-ldflags",
		product.VersionFlag(), "-o", path, "./app/cmd/tandem"))
}
