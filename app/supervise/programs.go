package supervise

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Programs are the paths of Tandem's other executables.
type Programs struct {
	Tandem string // the command line, which serves
	Window string
}

// Beside finds the other programs by the path of one: inside Tandem.app, among the outputs of a
// build, or where Wails' own tool puts the window. A tandem that is in none of these is looked up
// in PATH. A program that is not found gets the path where a build puts it.
func Beside(executable string) Programs {
	dir := filepath.Dir(executable)
	platform := filepath.Join("out", runtime.GOOS+"-"+runtime.GOARCH)
	p := Programs{
		Tandem: first(dir, "../cli/tandem", "../Resources/bin/tandem",
			"../../../../Resources/bin/tandem",
			filepath.Join("..", platform, "cli", "tandem"),
			filepath.Join("../../../..", platform, "cli", "tandem")),
		Window: first(dir, "../window/Tandem Window",
			"../Helpers/Tandem Window.app/Contents/MacOS/Tandem Window"),
	}
	if _, err := os.Stat(p.Tandem); err != nil {
		if path, err := exec.LookPath("tandem"); err == nil {
			p.Tandem = path
		}
	}
	return p
}

// first returns the first of the paths that exists, or else the first path.
func first(dir string, paths ...string) string {
	for _, path := range paths {
		path = filepath.Join(dir, path)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return filepath.Join(dir, paths[0])
}

// Bundle returns the path of the Tandem.app that has this main executable, or "".
func Bundle(executable string) string {
	contents, ok := strings.CutSuffix(filepath.Dir(executable), "/MacOS")
	if bundle := strings.TrimSuffix(contents, "/Contents"); ok && bundle != contents &&
		filepath.Ext(bundle) == ".app" {
		return bundle
	}
	return ""
}
