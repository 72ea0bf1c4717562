package mac

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tandem/build/licences"
	"tandem/build/program"
	"tandem/build/setup"
)

// Make makes Tandem.app and an archive of it. On a Mac it also makes a disk image. For a whole app
// it also makes the cask, which downloads the archive from the address url.
func Make(ctx context.Context, b *setup.Builder, addresses program.Addresses, url string) error {
	start := time.Now()
	m := &builder{b}
	a, err := m.makeApp(ctx, addresses)
	if err != nil {
		return err
	}
	if err := m.packBundle(ctx, a, url); err != nil {
		return err
	}
	a.report(m)
	fmt.Fprintf(b.Out, "app: %s\n", setup.Seconds(time.Since(start)))
	return nil
}

// A builder is setup's builder with the steps that make the app.
type builder struct{ *setup.Builder }

// An appBundle is a finished Tandem.app and what the validator found in it.
type appBundle struct {
	path     string
	product  program.Product
	expected expectation
	result   *validation
	lacks    []string // the parts that only a Mac adds, in words for a person
}

// appOut is the folder for everything about the app.
func (b *builder) appOut() string { return filepath.Join(b.Root, "build", "out", "darwin-arm64") }

// makeApp builds the programs, puts the bundle together, signs it and validates it.
func (b *builder) makeApp(ctx context.Context, addresses program.Addresses) (*appBundle, error) {
	if err := b.installRequirements(ctx); err != nil {
		return nil, err
	}
	p, err := b.appParts(ctx, addresses)
	if err != nil {
		return nil, err
	}
	a := &appBundle{path: filepath.Join(b.appOut(), "Tandem.app"), product: p.product,
		lacks: lacking(p.menubar != "", p.starter != "", runtime.GOOS)}
	if err := b.assemble(a.path, p); err != nil {
		return nil, err
	}
	how, err := b.sign(ctx, a.path, p.menubar != "")
	if err != nil {
		return nil, err
	}
	a.expected = expectation{product: p.product, withoutFaces: p.menubar == "",
		withoutSeal: p.menubar == "", withoutStarter: p.starter == "", signing: how, private: b.privateFolders()}
	a.result, err = validate(os.DirFS(a.path), a.expected)
	return a, err
}

// lacking lists the parts that a bundle made on goos lacks. Most of them only a Mac adds. faces says
// whether it has the menu bar and the window, starter whether it has that model.
func lacking(faces, starter bool, goos string) (list []string) {
	if !starter {
		list = append(list, "the starter model (Contents/"+inStarter+"), which comes from PyPI")
	}
	if !faces {
		list = append(list,
			"the menu bar (Contents/"+inMain+") and the window (Contents/"+inWindow+"/MacOS): they are Objective-C, which needs Apple's SDK",
			"the bundle's own signature, which needs the menu bar",
			"the Homebrew cask, which installs a whole app")
	}
	if goos != "darwin" {
		list = append(list, "the disk image, which hdiutil makes")
	}
	return list
}

// installRequirements checks the variables for signing and installs what the build needs, before
// the long steps begin.
func (b *builder) installRequirements(ctx context.Context) error {
	if _, err := signingIdentity(); err != nil {
		return err
	}
	if err := b.Install(ctx, setup.SetupRequirements()); err != nil {
		return err
	}
	if err := b.RustTarget(ctx, setup.MacTriple); err != nil {
		return err
	}
	if runtime.GOOS == "darwin" {
		return nil
	}
	return b.setupRcodesign(ctx)
}

// iconFile is the app's icon in every size. Wails' own tool takes build/appicon.png, the same
// picture in 256 pixels.
const iconFile = "build/darwin/Tandem.icns"

// appParts builds the files that go into the bundle.
func (b *builder) appParts(ctx context.Context, addresses program.Addresses) (parts, error) {
	var p parts
	if err := b.SetUp(ctx); err != nil {
		return p, err
	}
	pip, err := b.PipPython(ctx)
	if err != nil {
		return p, err
	}
	cc, err := b.crossCC(ctx)
	if err != nil {
		return p, err
	}
	if p.product, err = program.ReadProduct(b.Builder); err != nil {
		return p, err
	}
	p.addresses = addresses
	if p.metal, err = b.metal(ctx, pip, cc); err != nil {
		return p, err
	}
	if p.icon, err = os.ReadFile(filepath.Join(b.Root, iconFile)); err != nil {
		return p, err
	}
	if dir, err := b.Starter(); err != nil {
		return p, err
	} else if dir != "" {
		p.starter = filepath.Join(dir, setup.StarterFile)
	}
	shared, err := p.metal.components()
	if err != nil {
		return p, err
	}
	if p.licences, err = licences.Text(ctx, b.Builder, licences.Target{GOOS: "darwin", GOARCH: "arm64",
		Tags: "ui,bundle,desktop,production", Programs: "./app/cmd/...", Triple: setup.MacTriple}, shared...); err != nil {
		return p, err
	}
	if p.tandem, err = b.macTandem(ctx, cc, p); err != nil {
		return p, err
	}
	if runtime.GOOS == "darwin" {
		p.menubar, p.window, err = b.macFaces(ctx, p)
	}
	return p, err
}

// macTandem links the command line program for the bundle.
func (b *builder) macTandem(ctx context.Context, cc *crossCC, p parts) (string, error) {
	// The crate is built again on a Mac too, because setup's library contains this machine's paths.
	_, _, native, err := b.BuildNative(ctx, setup.MacTriple)
	if err != nil {
		return "", err
	}
	out := filepath.Join(b.appOut(), "bundle", "tandem")
	// The tag leaves out the rpath of development builds, so that the bundle's rpath is the only
	// one.
	cmd := b.Command(ctx, "go", "build", "-trimpath", "-tags", "ui,bundle", "-ldflags",
		"-s -w "+p.product.Flags(p.addresses), "-o", out, "./app/cmd/tandem")
	cmd.Env = append(cmd.Env, cc.goEnv("-L"+p.metal.link(), "-L"+native,
		"-Wl,-rpath,@executable_path/../mlx")...)
	return out, b.Step("tandem for macOS: build", cmd)
}

// macFaces builds the menu bar and the window, on a Mac.
func (b *builder) macFaces(ctx context.Context, p parts) (menubar, window string, err error) {
	for _, x := range []struct {
		what, pkg, name string
		path            *string
	}{{"menu bar", "./app/cmd/menubar", "Tandem", &menubar},
		{"window", "./app/cmd/desktop", windowName, &window}} {
		*x.path = filepath.Join(b.appOut(), "bundle", "faces", x.name)
		cmd := b.Command(ctx, "go", "build", "-trimpath", "-tags", program.DesktopTags()+",bundle",
			"-ldflags", "-s -w "+p.product.VersionFlag(), "-o", *x.path, x.pkg)
		cmd.Env = append(cmd.Env, "CGO_CFLAGS=-O2 -mmacosx-version-min="+setup.MacOSTarget,
			"CGO_LDFLAGS=-framework UniformTypeIdentifiers -mmacosx-version-min="+setup.MacOSTarget+" -Wl,-headerpad_max_install_names")
		if err := b.Step(x.what+" for macOS: build", cmd); err != nil {
			return "", "", err
		}
	}
	return menubar, window, nil
}

// report lists the files of the bundle, and the parts that it lacks.
func (a *appBundle) report(b *builder) {
	fmt.Fprintf(b.Out, "\n%s\n%s\n", a.path, a.result.table())
	for i, what := range a.lacks {
		if i == 0 {
			fmt.Fprintln(b.Out, "Only a Mac adds:")
		}
		fmt.Fprintf(b.Out, "  %s\n", what)
	}
}

// packBundle packs the bundle into a zip. On a Mac it also makes a disk image. For a whole app it
// also writes the cask that installs it.
func (b *builder) packBundle(ctx context.Context, a *appBundle, url string) error {
	if err := errors.Join(a.result.findings...); err != nil {
		return err
	}
	// An older archive no longer matches the bundle.
	old, err := filepath.Glob(filepath.Join(b.appOut(), "Tandem-*"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	name := "Tandem-" + a.product.Info.ProductVersion
	if len(a.result.absent) > 0 {
		name += "-incomplete"
	}
	archive := filepath.Join(b.appOut(), name+".zip")
	start := time.Now()
	sum, size, err := zipBundle(archive, a.path)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "%s: %s, sha256 %s, %s\n", archive, megabytes(size), sum,
		setup.Seconds(time.Since(start)))
	if runtime.GOOS == "darwin" {
		if err := b.diskImage(ctx, filepath.Join(b.appOut(), name+".dmg"), a.path); err != nil {
			return err
		}
	}
	if len(a.result.absent) > 0 {
		return nil
	}
	if url == "" {
		url = "file://" + b.appOut()
	}
	url = strings.TrimSuffix(url, "/") + "/" + name + ".zip"
	path := filepath.Join(b.appOut(), "tandem.rb")
	fmt.Fprintln(b.Out, path)
	return os.WriteFile(path, []byte(cask(a.product, url, sum)), 0o644)
}
