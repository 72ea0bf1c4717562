package main

import (
	"context"
	"runtime"

	"tandem/build/linux"
	"tandem/build/mac"
	"tandem/build/setup"
)

// distVerb makes what people download: on a Mac the app, its archive, disk image and cask, on Linux
// an archive and its installer.
func distVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("dist")
	url := set.String("url", "",
		"the address where the files will be downloaded from, without their names (default: where they are here)")
	addresses := addressFlags(set)
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if runtime.GOOS == "darwin" {
		return mac.Make(ctx, b, *addresses, *url)
	}
	return linux.Make(ctx, b, *addresses, *url)
}
