package main

import (
	"context"
	"flag"
	"fmt"

	"tandem/build/mac"
	"tandem/build/program"
	"tandem/build/setup"
)

// appVerb makes Tandem.app, and the archive, disk image and cask that distribute it.
func appVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("app")
	goos := set.String("os", "darwin", "the system the app is for: darwin")
	arch := set.String("arch", "arm64", "the processor it is for: arm64")
	url := set.String("url", "",
		"the address where the archive will be downloaded from, without its name, for the Homebrew cask (default: where it is here)")
	addresses := addressFlags(set)
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if *goos != "darwin" || *arch != "arm64" {
		fmt.Fprintf(set.Output(),
			"%s: the app is for darwin on arm64 alone; MLX runs on no other Mac, and other systems have no bundles\n",
			set.Name())
		return errUsage
	}
	return mac.Make(ctx, b, *addresses, *url)
}

// addressFlags adds the flags of what a release knows of the web.
func addressFlags(set *flag.FlagSet) *program.Addresses {
	addresses := new(program.Addresses)
	set.StringVar(&addresses.Feed, "feed", "",
		"the address that tells of newer versions, as JSON {\"version\": \"1.2.3\", \"page\": \"https://...\"} (default: none is asked)")
	set.StringVar(&addresses.Issues, "issues", "",
		"the address of the form for problems, to which the window leads (default: none is shown)")
	return addresses
}
