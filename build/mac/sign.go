package mac

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tandem/build/setup"
)

// A signer signs one file, or one bundle whose contents are signed already.
type signer struct {
	how  signing
	what string   // in words
	args []string // up to the path
	name string   // the flag that gives a file its identifier
}

// A signee is a file or bundle to sign. A bundle has its identifier in a property list. A file gets
// one here, because linkers call all of them a.out.
type signee struct{ path, identifier string }

func (s *signer) command(x signee) []string {
	args := s.args[:len(s.args):len(s.args)]
	if x.identifier != "" {
		args = append(args, s.name, x.identifier)
	}
	return append(args, x.path)
}

// An identity is the Developer ID that the environment names. Empty means none.
type identity struct {
	name          string // of a certificate in a Mac's keychain
	key, password string // paths of files, elsewhere
}

// signingIdentity reads the environment. It refuses variables that this system cannot use.
func signingIdentity() (identity, error) {
	id := identity{os.Getenv("TANDEM_SIGN_IDENTITY"), os.Getenv("TANDEM_SIGN_P12"),
		os.Getenv("TANDEM_SIGN_P12_PASSWORD_FILE")}
	switch {
	case runtime.GOOS == "darwin" && id.key+id.password != "":
		return id, errors.New("TANDEM_SIGN_P12 and TANDEM_SIGN_P12_PASSWORD_FILE are for other systems. Put the certificate into the keychain and name it in TANDEM_SIGN_IDENTITY")
	case runtime.GOOS != "darwin" && id.name != "":
		return id, errors.New("TANDEM_SIGN_IDENTITY names a certificate in a Mac's keychain. Set TANDEM_SIGN_P12 and TANDEM_SIGN_P12_PASSWORD_FILE here")
	case (id.key == "") != (id.password == ""):
		return id, errors.New("TANDEM_SIGN_P12 and TANDEM_SIGN_P12_PASSWORD_FILE are set together or not at all. The second names a file with the password")
	}
	return id, nil
}

// signer chooses by the environment. With an identity it signs with the Developer ID, the hardened
// runtime and a timestamp. Without one it signs ad hoc and without the runtime, which would ask for
// a team that libraries do not have.
func (b *builder) signer(ctx context.Context) (*signer, error) {
	id, err := signingIdentity()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "darwin" {
		args := []string{"codesign", "--force", "--sign"}
		if id.name == "" {
			return &signer{adHoc, "ad hoc", append(args, "-"), "--identifier"}, nil
		}
		return &signer{byIdentity, "as " + id.name,
			append(args, id.name, "--options", "runtime", "--timestamp"), "--identifier"}, nil
	}
	tool := b.rcodesign(ctx)
	if tool == "" {
		return nil, fmt.Errorf("there is no rcodesign %s here; run go run ./build app, which compiles it",
			setup.RcodesignVersion)
	}
	how, what, args := adHoc, "ad hoc", []string{tool, "sign", "--shallow"}
	if id.key != "" {
		how, what = byIdentity, "as "+filepath.Base(id.key)
		args = append(args, "--p12-file", id.key, "--p12-password-file", id.password,
			"--for-notarization", "--code-signature-flags", "runtime")
	}
	return &signer{how, what, args, "--binary-identifier"}, nil
}

// signOrder returns the files and bundles to sign, from the inside out. The seal of a bundle covers
// everything before it.
func signOrder(bundle string, whole bool) ([]signee, error) {
	contents := filepath.Join(bundle, "Contents")
	files, err := filepath.Glob(filepath.Join(contents, inMLX, "*", "*.dylib"))
	if err != nil {
		return nil, err
	}
	var order []signee
	for _, path := range append(files, filepath.Join(contents, inMLX, selectLib),
		filepath.Join(contents, inTandem)) {
		order = append(order, signee{path, identifierOf(path)})
	}
	if whole {
		order = append(order, signee{path: filepath.Dir(filepath.Join(contents, inWindow))},
			signee{path: bundle})
	}
	return order, nil
}

// sign signs everything in the bundle. If the programs that its seal needs are there, it signs the
// bundle too.
func (b *builder) sign(ctx context.Context, bundle string, whole bool) (signing, error) {
	s, err := b.signer(ctx)
	if err != nil {
		return "", err
	}
	order, err := signOrder(bundle, whole)
	if err != nil {
		return "", err
	}
	for _, x := range order {
		args := s.command(x)
		if out, err := b.Command(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	fmt.Fprintf(b.Out, "signed %s: %d files and bundles\n", s.what, len(order))
	return s.how, nil
}
