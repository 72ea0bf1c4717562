package program

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"tandem/build/setup"
)

// DesktopRequirements returns what the build of the menu bar and the window needs on Linux. A Mac
// has all of it in Xcode's tools.
func DesktopRequirements() []setup.Requirement {
	if runtime.GOOS != "linux" {
		return nil
	}
	var list []setup.Requirement
	list = append(list, setup.Requirement{What: "pkg-config", Apt: "pkg-config",
		Present: setup.OnPath("pkg-config")})
	for _, lib := range []struct{ name, apt string }{
		{"gtk+-3.0", "libgtk-3-dev"}, {"webkit2gtk-4.1", "libwebkit2gtk-4.1-dev"}, {"ayatana-appindicator3-0.1", "libayatana-appindicator3-dev"},
	} {
		list = append(list, setup.Requirement{What: lib.name, Apt: lib.apt,
			Present: func(ctx context.Context, b *setup.Builder) bool {
				return b.Command(ctx, "pkg-config", "--exists", lib.name).Run() == nil
			}})
	}
	return list
}

// DesktopTags returns the build tags of the menu bar and the window: ours, and those of Wails.
func DesktopTags() string {
	tags := "desktop,production,ui"
	if runtime.GOOS == "linux" {
		tags += ",webkit2_41"
	}
	return tags
}

// Programs are the paths of the executables: the three of the bundle, and the lab's. Each has a folder
// of its own, because Tandem and tandem are one name on a Mac's disk.
type Programs struct {
	Tandem, Menubar, Window, Lab string
}

// programsOf returns the paths of the executables for this machine.
func programsOf(b *setup.Builder) Programs {
	out := filepath.Join(b.Root, "build", "out", runtime.GOOS+"-"+runtime.GOARCH)
	return Programs{
		Tandem:  filepath.Join(out, "cli", "tandem"),
		Menubar: filepath.Join(out, "menubar", "Tandem"),
		Window:  filepath.Join(out, "window", "Tandem Window"),
		Lab:     filepath.Join(out, "lab", "tandem-lab"),
	}
}

// BuildDesktop builds the menu bar, the window and tandem, all with the interface inside. The
// interface and [DesktopRequirements] have to be set up.
func BuildDesktop(ctx context.Context, b *setup.Builder) (Programs, error) {
	p := programsOf(b)
	product, err := ReadProduct(b)
	if err != nil {
		return p, err
	}
	if _, err := BuildTandem(ctx, b); err != nil {
		return p, err
	}
	for _, x := range []struct{ what, tags, out, pkg string }{
		{"menu bar: build", DesktopTags(), p.Menubar, "./app/cmd/menubar"},
		{"window: build", DesktopTags(), p.Window, "./app/cmd/desktop"},
	} {
		cmd := b.Command(ctx, "go", "build", "-tags", x.tags, "-ldflags", product.VersionFlag(),
			"-o", x.out, x.pkg)
		if runtime.GOOS == "darwin" {
			cmd.Env = append(cmd.Env, "CGO_LDFLAGS=-framework UniformTypeIdentifiers")
		}
		if err := b.Step(x.what, cmd); err != nil {
			return p, err
		}
	}
	return p, nil
}

// HasDisplay reports whether windows can be shown here.
func HasDisplay() bool {
	return runtime.GOOS == "darwin" || os.Getenv("DISPLAY") != "" ||
		os.Getenv("WAYLAND_DISPLAY") != ""
}
