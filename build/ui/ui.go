package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// headlessShell is Debian's package of Chromium without windows, and its program.
const headlessShell = "chromium-headless-shell"

// Requirements are what the tests of the interface need.
func Requirements() []setup.Requirement {
	list := []setup.Requirement{{What: "Chromium", Apt: headlessShell,
		Hint: "install Chromium, or set CHROMIUM to a browser's path",
		Present: func(context.Context, *setup.Builder) bool {
			return chromium() != ""
		}}}
	if runtime.GOOS == "linux" {
		list = append(list,
			setup.Requirement{What: "Xvfb", Apt: "xvfb", Present: setup.OnPath("xvfb-run")},
			setup.Requirement{What: "xauth", Apt: "xauth", Present: setup.OnPath("xauth")},
			setup.Requirement{What: "curl", Apt: "curl", Present: setup.OnPath("curl")},
			setup.Requirement{What: "pkill", Apt: "procps", Present: setup.OnPath("pkill")},
			setup.Requirement{What: "a session bus", Apt: "dbus",
				Present: setup.OnPath("dbus-run-session")},
			setup.Requirement{What: "a window manager", Apt: "openbox",
				Present: setup.OnPath("openbox")},
			setup.Requirement{What: "xdotool", Apt: "xdotool", Present: setup.OnPath("xdotool")},
			setup.Requirement{What: "xclip", Apt: "xclip", Present: setup.OnPath("xclip")},
			setup.Requirement{What: "import of ImageMagick", Apt: "imagemagick",
				Present: setup.OnPath("import")},
			setup.Requirement{What: "a font", Apt: "fonts-dejavu-core",
				Present: func(ctx context.Context, b *setup.Builder) bool {
					out, err := b.Output(b.Command(ctx, "fc-list"))
					return err == nil && out != ""
				}},
		)
	}
	return list
}

// chromium returns the path of the browser, or "" without one. The headless shell comes first: it
// draws no window around a page, so the tests take two thirds of the time.
func chromium() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), headlessShell, "chromium", "google-chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// Test tests the interface in a browser, and the menu bar and the window on a display of its own. With
// long, the browser shows ten times as many answers of repeated characters. Screenshots stay in
// build/out/ui.
func Test(ctx context.Context, b *setup.Builder, long bool) error {
	start := time.Now()
	if err := b.SetUp(ctx, program.DesktopRequirements(), Requirements()); err != nil {
		return err
	}
	p, err := program.BuildDesktop(ctx, b)
	if err != nil {
		return err
	}
	vet := b.Command(ctx, "go", "vet", "-tags", program.DesktopTags(), "./app/cmd/menubar",
		"./app/cmd/desktop")
	tests := b.Command(ctx, "go", "test", "-timeout", "5m", "-tags", program.DesktopTags(),
		"./app/cmd/menubar", "./app/cmd/desktop")
	err = errors.Join(b.Step("menu bar and window: vet", vet), b.Step("menu bar and window: test", tests),
		frontendChecks(ctx, b), browserTests(ctx, b, p, long))
	if runtime.GOOS == "linux" {
		err = errors.Join(err, stockWindow(ctx, b), desktopTests(ctx, b, p))
	}
	fmt.Fprintf(b.Out, "test ui: %s\n", setup.Seconds(time.Since(start)))
	return err
}

// stockWindow builds the window with the script that Wails' own tool calls. Almost everything is
// built already.
func stockWindow(ctx context.Context, b *setup.Builder) error {
	path := filepath.Join(b.Root, "build", "out", "wails", "Tandem")
	return b.Step("window as Wails' own tool builds it",
		b.Command(ctx, "sh", filepath.Join(b.Root, "build", "wails-go.sh"), "build", "-tags",
			program.DesktopTags(), "-o", path))
}

// frontendChecks check the interface's types and run its unit tests.
func frontendChecks(ctx context.Context, b *setup.Builder) error {
	var errs []error
	for _, script := range []string{"check", "test"} {
		cmd := b.Command(ctx, "npm", "run", "--silent", script)
		cmd.Dir = filepath.Join(b.Root, setup.FrontendDir)
		errs = append(errs, b.Step("frontend: "+script, cmd))
	}
	return errors.Join(errs...)
}

// browsers is how many files of tests run at once. One browser leaves half of two cores idle.
const browsers = 2

// browserTests run the interface in Chromium. Each file of tests is a process of Node. A file takes
// the next server that is free, because tests change what their server holds.
func browserTests(ctx context.Context, b *setup.Builder, p program.Programs, long bool) error {
	files, err := browserTestFiles(filepath.Join(b.Root, setup.FrontendDir))
	if err != nil {
		return err
	}
	start := time.Now()
	queue := make(chan string, len(files))
	for _, file := range files {
		queue <- file
	}
	close(queue)
	var printing sync.Mutex
	work := func() error { return testFiles(ctx, b, p, long, queue, &printing) }
	err = setup.Together(slices.Repeat([]func() error{work}, browsers)...)
	fmt.Fprintf(b.Out, "frontend: in a browser: %s\n", setup.Seconds(time.Since(start)))
	return err
}

// testFiles runs the files of a queue, one after the other, against one server on the pocket model.
func testFiles(
	ctx context.Context, b *setup.Builder, p program.Programs, long bool, queue <-chan string,
	printing *sync.Mutex,
) error {
	s, err := program.StartServer(ctx, b, p.Tandem, "--model", "pocket")
	if err != nil {
		return err
	}
	var env []string
	limit := browserTestLimit
	if long {
		env, limit = []string{"FUZZ=2000"}, 4*limit // the answers took 16 minutes beside other work
	}
	var errs []error
	for file := range queue {
		cmd := b.Command(ctx, "node", browserTestArgs(file, limit)...)
		cmd.Dir = filepath.Join(b.Root, setup.FrontendDir)
		cmd.Env = append(append(cmd.Env, env...), "TANDEM="+p.Tandem, "TANDEM_HOME="+s.Home, "CHROMIUM="+chromium(),
			"OUT="+uiOut(b))
		var out bytes.Buffer
		apart := *b // two steps at once would mix their lines
		apart.Out = &out
		errs = append(errs, apart.Step("frontend: "+filepath.Base(file), cmd))
		printing.Lock()
		io.Copy(b.Out, &out)
		printing.Unlock()
	}
	return errors.Join(append(errs, s.Stop())...)
}

// browserTestLimit is how long a file of tests may take. After that it counts as hanging. A busy
// machine takes several times as long as an idle one.
const browserTestLimit = 15 * time.Minute

// browserTestFiles returns the files of tests below the interface's folder.
func browserTestFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "test", "*.test.mjs"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no tests for the browser", dir)
	}
	return files, err
}

// browserTestArgs returns Node's arguments for one file. The reporter repeats failures at the end,
// which is what remains of a long output.
func browserTestArgs(file string, limit time.Duration) []string {
	return []string{"--test", "--test-reporter=spec",
		fmt.Sprintf("--test-timeout=%d", limit.Milliseconds()), file}
}

// uiOut is the folder for screenshots.
func uiOut(b *setup.Builder) string { return filepath.Join(b.Root, "build", "out", "ui") }

// desktopTests do what a user does with the menu bar and the window.
func desktopTests(ctx context.Context, b *setup.Builder, p program.Programs) error {
	home, err := os.MkdirTemp("", "tandem-home-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	if err := os.MkdirAll(uiOut(b), 0o755); err != nil {
		return err
	}
	return errors.Join(
		b.Step("menu bar and window on a display", onDisplay(ctx, b, p, home, "desktop.sh")),
		b.Step("menu on the bus", onDisplay(ctx, b, p, filepath.Join(home, "menu"), "menu.sh")),
		b.Step("stop in the window", onDisplay(ctx, b, p, filepath.Join(home, "stop"), "stop.sh")),
	)
}

// onDisplay returns a command that runs a script of build/ui on a display of its own, with a home
// folder for Tandem.
func onDisplay(
	ctx context.Context, b *setup.Builder, p program.Programs, home, script string,
) *exec.Cmd {
	cmd := b.Command(ctx, "xvfb-run", "--auto-servernum", "--server-args=-screen 0 1280x900x24",
		"dbus-run-session", "--",
		"bash", filepath.Join(b.Root, "build", "ui", script))
	// Without a locale WebKit calls its language C.
	cmd.Env = append(cmd.Env, "LANG=en_US.UTF-8", "LANGUAGE=en_US", "TANDEM_HOME="+home,
		"OUT="+uiOut(b),
		"TANDEM="+p.Tandem, "MENUBAR="+p.Menubar, "WINDOW="+p.Window)
	return cmd
}
