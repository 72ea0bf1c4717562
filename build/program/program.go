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
	return path, buildBesideStarter(ctx, b, path, "-tags", "ui", "./app/cmd/tandem")
}

// BuildLab builds the program of the lab as BuildTandem does its own. It needs no interface.
func BuildLab(ctx context.Context, b *setup.Builder) (string, error) {
	path := programsOf(b).Lab
	return path, buildBesideStarter(ctx, b, path, "./app/cmd/lab")
}

// BuildMeasured builds the programs that benches need: tandem, the lab's, or both.
func BuildMeasured(ctx context.Context, b *setup.Builder, tandem, lab bool) (of Programs, err error) {
	if tandem {
		_, err = BuildTandem(ctx, b)
	}
	if err == nil && lab {
		_, err = BuildLab(ctx, b)
	}
	return programsOf(b), err
}

// buildBesideStarter builds a program by go's further arguments, and puts a link to the starter model
// beside it.
func buildBesideStarter(ctx context.Context, b *setup.Builder, path string, args ...string) error {
	product, err := ReadProduct(b)
	if err != nil {
		return err
	}
	if err := b.PlaceStarter(filepath.Join(filepath.Dir(path), "models",
		setup.StarterFile)); err != nil {
		return err
	}
	args = append([]string{"build", "-ldflags", product.VersionFlag(), "-o", path}, args...)
	return b.Step(filepath.Base(path)+": build", b.Command(ctx, "go", args...))
}
