package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// uiRequirements are what the interface is looked at with.
func uiRequirements() []requirement {
	list := []requirement{{what: "Chromium", apt: "chromium", hint: "install Chromium, or set CHROMIUM to a browser's path", present: func(context.Context, *builder) bool {
		return chromium() != ""
	}}}
	if runtime.GOOS == "linux" {
		list = append(list,
			requirement{what: "Xvfb", apt: "xvfb", present: onPath("xvfb-run")},
			requirement{what: "xauth", apt: "xauth", present: onPath("xauth")},
			requirement{what: "curl", apt: "curl", present: onPath("curl")},
			requirement{what: "pkill", apt: "procps", present: onPath("pkill")},
			requirement{what: "a session bus", apt: "dbus", present: onPath("dbus-run-session")},
			requirement{what: "a window manager", apt: "openbox", present: onPath("openbox")},
			requirement{what: "xdotool", apt: "xdotool", present: onPath("xdotool")},
			requirement{what: "xclip", apt: "xclip", present: onPath("xclip")},
			requirement{what: "import of ImageMagick", apt: "imagemagick", present: onPath("import")},
			requirement{what: "a font", apt: "fonts-dejavu-core", present: func(ctx context.Context, b *builder) bool {
				out, err := b.output(b.command(ctx, "fc-list"))
				return err == nil && out != ""
			}},
		)
	}
	return list
}

// chromium is the path of the browser, empty if there is none.
func chromium() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// testUI looks at the interface in a browser, and at the menu bar and the window on a display of its own. Screenshots
// stay in build/out/ui.
func testUI(ctx context.Context, b *builder) error {
	start := time.Now()
	if err := b.setupAll(ctx, desktopRequirements(), uiRequirements()); err != nil {
		return err
	}
	p, err := b.buildDesktop(ctx)
	if err != nil {
		return err
	}
	vet := b.command(ctx, "go", "vet", "-tags", desktopTags(), "./app/cmd/menubar", "./app/cmd/desktop")
	tests := b.command(ctx, "go", "test", "-timeout", "5m", "-tags", desktopTags(), "./app/cmd/menubar")
	err = errors.Join(b.step("menu bar and window: vet", vet), b.step("menu bar: test", tests), b.frontendChecks(ctx), b.browserTests(ctx, p))
	if runtime.GOOS == "linux" {
		err = errors.Join(err, b.stockWindow(ctx), b.desktopTests(ctx, p))
	}
	fmt.Fprintf(b.out, "test ui: %s\n", seconds(time.Since(start)))
	return err
}

// stockWindow builds the window by the script that Wails' own tool calls. Next to nothing is left to build.
func (b *builder) stockWindow(ctx context.Context) error {
	path := filepath.Join(b.root, "build", "out", "wails", "Tandem")
	return b.step("window as Wails' own tool builds it",
		b.command(ctx, "sh", filepath.Join(b.root, "build", "wails-go.sh"), "build", "-tags", desktopTags(), "-o", path))
}

// frontendChecks are the types and the unit tests of the interface, and what it weighs.
func (b *builder) frontendChecks(ctx context.Context) error {
	errs := []error{weighInterface(b.out, filepath.Join(b.root, frontendDir, "dist"))}
	for _, script := range []string{"check", "test"} {
		cmd := b.command(ctx, "npm", "run", "--silent", script)
		cmd.Dir = filepath.Join(b.root, frontendDir)
		errs = append(errs, b.step("frontend: "+script, cmd))
	}
	return errors.Join(errs...)
}

// browserTests run the interface in Chromium against a server on the pocket model.
func (b *builder) browserTests(ctx context.Context, p programs) error {
	args, err := browserTestArgs(filepath.Join(b.root, frontendDir))
	if err != nil {
		return err
	}
	s, err := b.startServer(ctx, p.tandem, "--model", "pocket")
	if err != nil {
		return err
	}
	cmd := b.command(ctx, "node", args...)
	cmd.Dir = filepath.Join(b.root, frontendDir)
	cmd.Env = append(cmd.Env, "TANDEM="+p.tandem, "TANDEM_HOME="+s.home, "CHROMIUM="+chromium(), "OUT="+b.uiOut())
	return errors.Join(b.step("frontend: in a browser", cmd), s.stop())
}

// browserTestLimit is how long a file of them may take before it counts as one that hangs. A busy machine takes several
// times as long as an idle one.
const browserTestLimit = 15 * time.Minute

// browserTestArgs are what Node is told. It gets the files by name: what a folder stands for has changed between its
// versions. This reporter repeats what failed at the end, which is what is left of a long output.
func browserTestArgs(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "test", "*.test.mjs"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no tests for the browser", dir)
	}
	args := []string{"--test", "--test-reporter=spec", "--test-concurrency=1", fmt.Sprintf("--test-timeout=%d", browserTestLimit.Milliseconds())}
	return append(args, files...), err
}

// uiOut is where screenshots go.
func (b *builder) uiOut() string { return filepath.Join(b.root, "build", "out", "ui") }

// desktopTests walk through what a user does with the menu bar and the window.
func (b *builder) desktopTests(ctx context.Context, p programs) error {
	home, err := os.MkdirTemp("", "tandem-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.MkdirAll(b.uiOut(), 0o755); err != nil {
		return err
	}
	return errors.Join(
		b.step("menu bar and window on a display", b.onDisplay(ctx, p, home, "desktop.sh")),
		b.step("stop in the window", b.onDisplay(ctx, p, filepath.Join(home, "stop"), "stop.sh")),
	)
}

// onDisplay is a script of build/ui on a display of its own, with a home folder for Tandem.
func (b *builder) onDisplay(ctx context.Context, p programs, home, script string) *exec.Cmd {
	cmd := b.command(ctx, "xvfb-run", "--auto-servernum", "--server-args=-screen 0 1280x900x24", "dbus-run-session", "--",
		"bash", filepath.Join(b.root, "build", "ui", script))
	// Without a locale WebKit calls its language C.
	cmd.Env = append(cmd.Env, "LANG=en_US.UTF-8", "LANGUAGE=en_US", "TANDEM_HOME="+home, "OUT="+b.uiOut(),
		"TANDEM="+p.tandem, "MENUBAR="+p.menubar, "WINDOW="+p.window)
	return cmd
}
