package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
)

// desktopRequirements are what the menu bar and the window are built with on Linux. A Mac has it all in Xcode's tools.
func desktopRequirements() []requirement {
	if runtime.GOOS != "linux" {
		return nil
	}
	var list []requirement
	list = append(list, requirement{what: "pkg-config", apt: "pkg-config", present: onPath("pkg-config")})
	for _, lib := range []struct{ name, apt string }{
		{"gtk+-3.0", "libgtk-3-dev"}, {"webkit2gtk-4.1", "libwebkit2gtk-4.1-dev"}, {"ayatana-appindicator3-0.1", "libayatana-appindicator3-dev"},
	} {
		list = append(list, requirement{what: lib.name, apt: lib.apt, present: func(ctx context.Context, b *builder) bool {
			return b.command(ctx, "pkg-config", "--exists", lib.name).Run() == nil
		}})
	}
	return list
}

// desktopTags are the build tags of the two programs with a face: ours, and those of Wails.
func desktopTags() string {
	tags := "desktop,production,ui"
	if runtime.GOOS == "linux" {
		tags += ",webkit2_41"
	}
	return tags
}

// programs are the paths of the three executables. They lie in folders of their own: on a Mac's disk Tandem and tandem
// are one name.
type programs struct {
	tandem, menubar, window string
}

// programs says where the executables for this machine go.
func (b *builder) programs() programs {
	out := filepath.Join(b.root, "build", "out", runtime.GOOS+"-"+runtime.GOARCH)
	return programs{
		tandem: filepath.Join(out, "cli", "tandem"), menubar: filepath.Join(out, "menubar", "Tandem"), window: filepath.Join(out, "window", "Tandem Window"),
	}
}

// buildDesktop builds the menu bar, the window, and tandem, all with the interface inside, which is set up already, as
// is what desktopRequirements lists.
func (b *builder) buildDesktop(ctx context.Context) (programs, error) {
	p := b.programs()
	product, err := b.product()
	if err != nil {
		return p, err
	}
	if _, err := b.buildTandem(ctx); err != nil {
		return p, err
	}
	for _, x := range []struct{ what, tags, out, pkg string }{
		{"menu bar: build", desktopTags(), p.menubar, "./app/cmd/menubar"},
		{"window: build", desktopTags(), p.window, "./app/cmd/desktop"},
	} {
		cmd := b.command(ctx, "go", "build", "-tags", x.tags, "-ldflags", product.versionFlag(), "-o", x.out, x.pkg)
		if runtime.GOOS == "darwin" {
			cmd.Env = append(cmd.Env, "CGO_LDFLAGS=-framework UniformTypeIdentifiers")
		}
		if err := b.step(x.what, cmd); err != nil {
			return p, err
		}
	}
	return p, nil
}

// hasDisplay reports whether windows can be shown here.
func hasDisplay() bool {
	return runtime.GOOS == "darwin" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}
