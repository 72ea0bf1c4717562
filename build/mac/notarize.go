package mac

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tandem/build/program"
	"tandem/build/setup"
)

// Notarize has Apple check the app and the disk image that [Make] made and signed with a Developer
// ID, and staples the tickets to them, so that they open without the network. The archive is packed
// again, because it cannot have a ticket of its own. profile names credentials in the keychain, which
// `xcrun notarytool store-credentials` puts there. Off a Mac it prints the commands.
func Notarize(ctx context.Context, from *setup.Builder, profile, url string) error {
	b := &builder{from}
	product, err := program.ReadProduct(from)
	if err != nil {
		return err
	}
	app := filepath.Join(b.appOut(), "Tandem.app")
	name := filepath.Join(b.appOut(), "Tandem-"+product.Info.ProductVersion)
	first, second := notarizing(cmp.Or(profile, "NAME"), app, name)
	if runtime.GOOS != "darwin" {
		fmt.Fprintln(b.Out, "Notarizing needs a Mac. There it would run:")
		for _, args := range append(first, second...) {
			fmt.Fprintln(b.Out, "  "+strings.Join(args, " "))
		}
		return nil
	}
	if profile == "" {
		return errors.New("name the keychain's credentials by --profile; `xcrun notarytool store-credentials NAME` makes them")
	}
	if _, err := os.Stat(name + ".zip"); err != nil {
		return fmt.Errorf("sign and pack the app first, with TANDEM_SIGN_IDENTITY set: go run ./build dist (%w)", err)
	}
	run := func(commands [][]string) error {
		for _, args := range commands {
			if err := b.Step(strings.Join(args, " "), b.Command(ctx, args[0], args[1:]...)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(first); err != nil {
		return err
	}
	how, err := b.signer(ctx)
	if err != nil {
		return err
	}
	a := &appBundle{path: app, product: product, expected: expectation{product: product, signing: how.how,
		private: b.privateFolders()}}
	if a.result, err = validate(os.DirFS(app), a.expected); err != nil {
		return err
	}
	if err := b.packBundle(ctx, a, url); err != nil {
		return err
	}
	return run(second)
}

// notarizing returns the commands for the app, and those for the disk image that is made of the app
// afterwards.
func notarizing(profile, app, name string) (first, second [][]string) {
	submit := func(file string) []string {
		return []string{"xcrun", "notarytool", "submit", file, "--keychain-profile", profile, "--wait"}
	}
	first = [][]string{submit(name + ".zip"), {"xcrun", "stapler", "staple", app}}
	second = [][]string{submit(name + ".dmg"), {"xcrun", "stapler", "staple", name + ".dmg"},
		{"spctl", "--assess", "--type", "execute", "--verbose=2", app}}
	return first, second
}
