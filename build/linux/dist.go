package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"
	"time"

	_ "embed"

	"tandem/build/licences"
	"tandem/build/program"
	"tandem/build/setup"
)

//go:embed install.sh
var installer string

// A dist is what Make made.
type dist struct {
	tree    string // the folder that the archive holds
	archive string
	glibc   string // the oldest glibc it runs on, such as 2.36
}

// Make writes tandem-VERSION-linux-amd64.tar.gz, its SHA-256 and install.sh into
// build/out/linux-amd64/dist. The installer downloads the archive from the address url unless the
// archive is beside it; with an empty url it has to be.
func Make(ctx context.Context, b *setup.Builder, addresses program.Addresses, url string) error {
	d, err := build(ctx, b, addresses, url)
	if err != nil {
		return err
	}
	return d.report(b)
}

func build(ctx context.Context, b *setup.Builder, addresses program.Addresses, url string) (d dist, err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return d, errors.New("the archive for Linux is made on Linux, on x86-64")
	}
	if err := b.SetUp(ctx); err != nil {
		return d, err
	}
	product, err := program.ReadProduct(b)
	if err != nil {
		return d, err
	}
	out := filepath.Join(b.Root, "build", "out", "linux-amd64", "dist")
	if err := os.RemoveAll(out); err != nil {
		return d, err
	}
	name := "tandem-" + product.Info.ProductVersion + "-linux-amd64"
	d.tree, d.archive = filepath.Join(out, name), filepath.Join(out, name+".tar.gz")
	if err := fill(ctx, b, d.tree, product.Flags(addresses)); err != nil {
		return d, err
	}
	if d.glibc, err = newestGlibc(d.tree); err != nil {
		return d, err
	}
	start := time.Now()
	sum, err := pack(d.archive, d.tree)
	if err != nil {
		return d, err
	}
	fmt.Fprintf(b.Out, "%s: pack ... %s\n", filepath.Base(d.archive), setup.Seconds(time.Since(start)))
	if err := os.WriteFile(d.archive+".sha256", []byte(sum+"  "+filepath.Base(d.archive)+"\n"), 0o644); err != nil {
		return d, err
	}
	script, err := os.Create(filepath.Join(out, "install.sh"))
	if err != nil {
		return d, err
	}
	return d, errors.Join(template.Must(template.New("").Parse(installer)).Execute(script, map[string]string{
		"Name": name, "SHA256": sum, "Glibc": d.glibc, "URL": strings.TrimSuffix(url, "/"),
	}), script.Close())
}

// fill makes the tree: the program, linked with flags, the starter model, the libraries and the
// licences.
func fill(ctx context.Context, b *setup.Builder, tree, flags string) error {
	for _, dir := range []string{"models", "mlx/lib", "mlx_cpu.libs"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			return err
		}
	}
	tandem := filepath.Join(tree, "tandem")
	// The tag leaves out the rpath of development builds. The flags of Go's own default come first.
	cmd := b.Command(ctx, "go", "build", "-trimpath", "-tags", "ui,bundle", "-ldflags",
		"-s -w "+flags, "-o", tandem, "./app/cmd/tandem")
	cmd.Env = append(cmd.Env, "CGO_LDFLAGS=-O2 -g -Wl,--disable-new-dtags -Wl,-rpath,$ORIGIN/mlx/lib")
	if err := b.Step("tandem for the archive: build", cmd); err != nil {
		return err
	}
	starter, err := b.Starter()
	if err != nil {
		return err
	}
	if starter == "" {
		return errors.New("the archive needs the starter model, and PyPI could not be reached; try again")
	}
	if err := setup.CopyFile(filepath.Join(tree, "models", setup.StarterFile), filepath.Join(starter, setup.StarterFile)); err != nil {
		return err
	}
	mlx, err := filepath.EvalSymlinks(filepath.Join(b.Root, "engine", "mlx", ".deps", setup.MLXPin))
	if err != nil {
		return err
	}
	parts, err := copyLibraries(ctx, b, tree, tandem, mlx)
	if err != nil {
		return err
	}
	if err := writeShellFiles(ctx, b, tree, tandem); err != nil {
		return err
	}
	text, err := licences.Text(ctx, b, licences.Target{GOOS: "linux", GOARCH: "amd64", Tags: "ui,bundle",
		Programs: "./app/cmd/tandem", Triple: "x86_64-unknown-linux-gnu"}, parts...)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(tree, "Licences.txt"), []byte(text), 0o644),
		setup.CopyFile(filepath.Join(tree, "LICENSE"), filepath.Join(b.Root, "LICENSE")))
}

// shells are the shells that tandem completes commands in, with the name of the file where each looks.
var shells = map[string]string{"bash": "tandem", "zsh": "_tandem", "fish": "tandem.fish"}

// writeShellFiles has the program write its man pages and what completes its commands.
func writeShellFiles(ctx context.Context, b *setup.Builder, tree, tandem string) error {
	run := func(args ...string) (string, error) {
		cmd := b.Command(ctx, tandem, args...)
		// The pages carry a date. It is that of the files in the archive.
		cmd.Env = append(cmd.Env, fmt.Sprint("SOURCE_DATE_EPOCH=", program.ArchiveTime.Unix()))
		return b.Output(cmd)
	}
	man := filepath.Join(tree, "share", "man", "man1")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	if _, err := run("man", man); err != nil {
		return err
	}
	for shell, name := range shells {
		text, err := run("completion", shell)
		if err != nil {
			return err
		}
		dir := filepath.Join(tree, "share", shell)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// report prints the archive's size, and what fills it.
func (d dist) report(b *setup.Builder) error {
	info, err := os.Stat(d.archive)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "\n%s\n%.1f MB packed, for glibc %s and later; unpacked:\n", d.archive, float64(info.Size())/1e6, d.glibc)
	entries, err := os.ReadDir(d.tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var size int64
		err := filepath.WalkDir(filepath.Join(d.tree, e.Name()), func(_ string, f os.DirEntry, err error) error {
			if err != nil || f.IsDir() {
				return err
			}
			info, err := f.Info()
			if err == nil {
				size += info.Size()
			}
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(b.Out, "%8.1f MB  %s\n", float64(size)/1e6, e.Name())
	}
	return nil
}
