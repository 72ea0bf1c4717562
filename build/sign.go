package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// rcodesignVersion is the one that was tried.
const rcodesignVersion = "0.29.0"

// noSigner says what is missing where nothing signs.
const noSigner = "there is no rcodesign here (cargo install apple-codesign --version " + rcodesignVersion +
	" --locked); each program and library has the signature that its linker gave it"

// A signer signs one file or one bundle that has been signed inside already.
type signer struct {
	what string   // in words
	args []string // up to the path
	name string   // the flag that gives a file its identifier
}

// A signee is what is signed. Bundles have their identifier in a property list, files get one here, where linkers would
// call all of them a.out.
type signee struct{ path, identifier string }

func (s *signer) command(x signee) []string {
	args := s.args[:len(s.args):len(s.args)]
	if x.identifier != "" {
		args = append(args, s.name, x.identifier)
	}
	return append(args, x.path)
}

// signer chooses by the environment: with an identity, a Developer ID with the hardened runtime and a timestamp, without
// one ad hoc and without the runtime, which would ask for a team that libraries have none of. nil if nothing here signs.
func (b *builder) signer() (*signer, error) {
	identity, key, password := os.Getenv("TANDEM_SIGN_IDENTITY"), os.Getenv("TANDEM_SIGN_P12"), os.Getenv("TANDEM_SIGN_P12_PASSWORD_FILE")
	if runtime.GOOS == "darwin" {
		args := []string{"codesign", "--force", "--sign"}
		what := "ad hoc"
		if identity == "" {
			args = append(args, "-")
		} else {
			what, args = "as "+identity, append(args, identity, "--options", "runtime", "--timestamp")
		}
		return &signer{what, args, "--identifier"}, nil
	}
	if _, err := exec.LookPath("rcodesign"); err != nil {
		if key != "" {
			return nil, fmt.Errorf("TANDEM_SIGN_P12 is set, but there is no rcodesign: cargo install apple-codesign --version %s --locked", rcodesignVersion)
		}
		return nil, nil
	}
	what, args := "ad hoc", []string{"rcodesign", "sign", "--shallow"}
	if key != "" {
		if password == "" {
			return nil, errors.New("TANDEM_SIGN_P12 is set: set TANDEM_SIGN_P12_PASSWORD_FILE to a file with its password too")
		}
		what = "as " + filepath.Base(key)
		args = append(args, "--p12-file", key, "--p12-password-file", password, "--for-notarization", "--code-signature-flags", "runtime")
	}
	return &signer{what, args, "--binary-identifier"}, nil
}

// signOrder is what is signed, from the inside out: each seal covers those before it.
func signOrder(bundle string, whole bool) ([]signee, error) {
	contents := filepath.Join(bundle, "Contents")
	files, err := filepath.Glob(filepath.Join(contents, inMLX, "*", "*.dylib"))
	if err != nil {
		return nil, err
	}
	var order []signee
	for _, path := range append(files, filepath.Join(contents, inMLX, selectLib), filepath.Join(contents, inTandem)) {
		order = append(order, signee{path, bundleID + "." + strings.TrimSuffix(filepath.Base(path), ".dylib")})
	}
	if whole {
		order = append(order, signee{path: filepath.Dir(filepath.Join(contents, inWindow))}, signee{path: bundle})
	}
	return order, nil
}

// sign signs everything in the bundle and the bundle. Where nothing signs here, or the programs that a bundle's seal
// hangs on are not there, it says so by false.
func (b *builder) sign(ctx context.Context, bundle string, whole bool) (bool, error) {
	s, err := b.signer()
	if err != nil {
		return false, err
	}
	if s == nil {
		fmt.Fprintln(b.out, "not signed here:", noSigner)
		return false, nil
	}
	order, err := signOrder(bundle, whole)
	if err != nil {
		return false, err
	}
	for _, x := range order {
		args := s.command(x)
		if out, err := b.command(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return false, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	fmt.Fprintf(b.out, "signed %s: %d files and bundles\n", s.what, len(order))
	return whole, nil
}
