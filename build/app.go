package main

import (
	"context"
	"fmt"

	"tandem/build/mac"
	"tandem/build/setup"
)

// appVerb makes Tandem.app, and the archive, disk image and cask that distribute it.
func appVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("app")
	goos := set.String("os", "darwin", "the system the app is for: darwin")
	arch := set.String("arch", "arm64", "the processor it is for: arm64")
	url := set.String("url", "",
		"the address where the archive will be downloaded from, without its name, for the Homebrew cask (default: where it is here)")
	feed := set.String("feed", "",
		"address that tells of newer versions, as JSON {\"version\": \"1.2.3\", \"page\": \"https://...\"} (default: none is asked)")
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if *goos != "darwin" || *arch != "arm64" {
		fmt.Fprintf(set.Output(),
			"%s: the app is for darwin on arm64 alone; MLX runs on no other Mac, and other systems have no bundles\n",
			set.Name())
		return errUsage
	}
	return mac.Make(ctx, b, *feed, *url)
}
