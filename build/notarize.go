package main

import (
	"context"

	"tandem/build/mac"
	"tandem/build/setup"
)

// notarizeVerb has Apple check what distVerb made on a Mac.
func notarizeVerb(ctx context.Context, b *setup.Builder, args []string) error {
	set := newFlags("notarize")
	profile := set.String("profile", "", "the credentials in the keychain, as notarytool stored them")
	url := set.String("url", "", "as for dist")
	if err := parse(set, args, 0); err != nil {
		return err
	}
	return mac.Notarize(ctx, b, *profile, *url)
}
