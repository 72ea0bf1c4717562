package mac

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tandem/build/program"
	"tandem/build/setup"
)

// TestNewerSetIsChosenFromDarwin25_2 compiles the rule that chooses one of the two sets, and asks
// it about kernel releases.
func TestNewerSetIsChosenFromDarwin25_2(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	text := "#include <stdio.h>\n#include \"select.h\"\nint main(int n, char **words) {\n" +
		"  for (int i = 1; i < n; i++)\n    putchar(wants_newer(words[i]) ? 'n' : 'o');\n  return 0;\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-Wall", "-Werror", "-I", "../darwin", "-o", program,
		source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for release, want := range map[string]string{
		"23.0.0": "o", "24.6.0": "o", "25.0.0": "o", "25.1.0": "o", "25.2.0": "n", "25.10.0": "n",
		"26.0.0": "n", "100.0": "n",
		"": "o", "25": "o", "x": "o", ".2": "o", "99999999999999999999.1": "o", "25.": "o",
	} {
		if out, err := exec.Command(program, release).Output(); err != nil || string(out) != want {
			t.Errorf("Darwin %q: %q, %v, want %q", release, out, err, want)
		}
	}
}

// TestSelectJumpsKeepOneOrder expects one order of functions, names and slots, and an end of the
// list of names.
func TestSelectJumpsKeepOneOrder(t *testing.T) {
	text := selectJumps([]string{"mlx_add", "_mlx_error"})
	for _, want := range []string{
		"_mlx_add:\n  adrp x16, l_slot0@PAGE\n", "__mlx_error:\n  adrp x16, l_slot1@PAGE\n",
		"l_slot0:\n  .quad 0\nl_slot1:\n  .quad 0\n",
		"l_name1:\n  .asciz \"_mlx_error\"\n", "  .quad l_name0\n  .quad l_name1\n  .quad 0\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// TestWindowPlistHasNoNamesOfOurs expects only names that Wails gives. Wails' own tool fills the
// window's property list as well, and does not know our names.
func TestWindowPlistHasNoNamesOfOurs(t *testing.T) {
	text, err := os.ReadFile("../darwin/Info.plist")
	if err != nil {
		t.Fatal(err)
	}
	for _, ours := range []string{".ID", ".Agent", ".MinimumOS"} {
		if strings.Contains(string(text), ours) {
			t.Errorf("darwin/Info.plist asks for %s, which Wails does not give", ours)
		}
	}
}

// TestInsideIsSignedFirst expects that a file is signed before the bundle that contains it.
func TestInsideIsSignedFirst(t *testing.T) {
	bundle := newTestBundle().write(t)
	order, err := signOrder(bundle, true)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) int {
		i := slices.IndexFunc(order, func(x signee) bool {
			return x.path == filepath.Join(bundle, name)
		})
		if i < 0 {
			t.Fatalf("%s is not signed: %v", name, order)
		}
		return i
	}
	window, app := at("Contents/Helpers/Tandem Window.app"), at("")
	for name, spec := range newTestBundle().binaries {
		if name == inMain || strings.HasPrefix(name, inWindow) { // signed as bundles
			continue
		}
		if i := at("Contents/" + name); i > window || i > app || order[i].identifier == "" {
			t.Errorf("%s (%v) is number %d, the window %d, the app %d",
				name, spec.library, i, window, app)
		}
	}
	if window > app {
		t.Error("the app is signed before the window")
	}
	if without, err := signOrder(bundle, false); err != nil || len(without) != len(order)-2 {
		t.Errorf("without bundles: %v, %v", without, err)
	}
}

func TestCaskInstallsAppAndCommand(t *testing.T) {
	p := program.Product{Info: program.ProductInfo{ProductName: "Tandem", ProductVersion: "1.2.3",
		Comments: "Runs models"}}
	text := cask(p, "https://example.org/files/Tandem-1.2.3.zip", "abc")
	for _, want := range []string{
		`version "1.2.3"`, `sha256 "abc"`, `url "https://example.org/files/Tandem-1.2.3.zip"`,
		`homepage "https://example.org/files/"`,
		`app "Tandem.app"`, `binary "#{appdir}/Tandem.app/Contents/Resources/bin/tandem"`,
		`launchctl: "` + agentLabel + `"`, `quit:      ["` + bundleID + `", "` + windowID +
			`"]`, `"~/Library/WebKit/` + windowID + `"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the cask does not say %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "%!") {
		t.Errorf("the cask has a value that was not filled in:\n%s", text)
	}
}

// TestMissingPartsAreNamedOnce expects each missing part once, and none on a Mac.
func TestMissingPartsAreNamedOnce(t *testing.T) {
	text := strings.Join(lacking(false, false, "linux"), "\n")
	for _, want := range []string{"menu bar (", "window (", "signature", "disk image",
		"Homebrew cask", "starter model"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s is not named:\n%s", want, text)
		}
	}
	if list := lacking(true, true, "darwin"); len(list) > 0 {
		t.Errorf("a Mac lacks %q", list)
	}
}

// TestLoginAgentHasOneName compares the agent's name in the bundle with where the programs name it.
func TestLoginAgentHasOneName(t *testing.T) {
	for file, name := range map[string]string{
		"../../app/cmd/menubar/login_darwin.go": `@"` + filepath.Base(inAgent) + `"`,
		"../../app/supervise/login.go":          `"` + agentLabel + `"`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), name) {
			t.Errorf("%s does not name %s", file, name)
		}
	}
}

// TestVariableOfTheOtherSystemIsRefusedFirst expects the refusal before anything is looked for,
// built or installed.
func TestVariableOfTheOtherSystemIsRefusedFirst(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	name := "TANDEM_SIGN_IDENTITY"
	if runtime.GOOS == "darwin" {
		name = "TANDEM_SIGN_P12"
	}
	t.Setenv(name, "x")
	b := newTestBuilder(t)
	if err := Test(t.Context(), b.Builder); err == nil || !strings.HasPrefix(err.Error(), name) {
		t.Errorf("test mac: %v", err)
	}
	if _, err := b.makeApp(t.Context(), program.Addresses{}); err == nil || !strings.HasPrefix(err.Error(), name) {
		t.Errorf("app: %v", err)
	}
}

// TestShortFoldersAreNotPrivate expects no search for a folder of one name, because another
// machine's path may end in it.
func TestShortFoldersAreNotPrivate(t *testing.T) {
	t.Setenv("HOME", "/root")
	t.Setenv("CARGO_HOME", "/opt/Rust und mehr")
	b := &builder{&setup.Builder{Root: "/src", Cache: setup.Cache{Dir: "/var/cache/tandem-dev"}}}
	if got, want := b.privateFolders(), []string{"/opt/Rust und mehr",
		"/var/cache/tandem-dev"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSignerFollowsTheEnvironment expects the hardened runtime and a timestamp with a Developer ID,
// and neither without. What the environment asks for and this system cannot do is refused.
func TestSignerFollowsTheEnvironment(t *testing.T) {
	const identity, key, password = "TANDEM_SIGN_IDENTITY", "TANDEM_SIGN_P12",
		"TANDEM_SIGN_P12_PASSWORD_FILE"
	for _, name := range []string{identity, key, password} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	b := newTestBuilder(t)
	b.Cache.Dir = t.TempDir()
	sign := func() string {
		t.Helper()
		s, err := b.signer(t.Context())
		if err != nil {
			return err.Error()
		}
		return string(s.how) + ": " + strings.Join(s.command(signee{"/x/libmlx.dylib", "id"}), " ")
	}
	if runtime.GOOS == "darwin" {
		if got := sign(); got != "ad hoc: codesign --force --sign - --identifier id /x/libmlx.dylib" {
			t.Errorf("ad hoc: %s", got)
		}
		t.Setenv(identity, "Developer ID Application: A")
		if got := sign(); got != "identity: codesign --force --sign Developer ID Application: A --options runtime --timestamp --identifier id /x/libmlx.dylib" {
			t.Errorf("with an identity: %s", got)
		}
		t.Setenv(key, "/keys/a.p12")
		if got := sign(); !strings.Contains(got,
			"TANDEM_SIGN_P12_PASSWORD_FILE are for other systems") {
			t.Errorf("a key on a Mac: %s", got)
		}
		return
	}
	if got := sign(); !strings.Contains(got, "there is no rcodesign") {
		t.Errorf("without a signer: %s", got)
	}
	t.Setenv(identity, "Developer ID Application: A")
	if got := sign(); !strings.Contains(got,
		"TANDEM_SIGN_IDENTITY names a certificate in a Mac's keychain") {
		t.Errorf("an identity off a Mac: %s", got)
	}
	t.Setenv(identity, "")
	t.Setenv(key, "/keys/a.p12")
	if got := sign(); !strings.Contains(got, "are set together") {
		t.Errorf("a key and no password: %s", got)
	}
	t.Setenv(password, "/keys/a.txt")
	if got := sign(); !strings.Contains(got, "there is no rcodesign") {
		t.Errorf("a key and no signer: %s", got)
	}
	tool := filepath.Join(dir, "rcodesign")
	write := func(path, version string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho apple-codesign "+version+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(tool, "0.28.0")
	if got := sign(); !strings.Contains(got, "there is no rcodesign") {
		t.Errorf("a signer of another version: %s", got)
	}
	write(tool, setup.RcodesignVersion)
	got := sign()
	for _, want := range []string{"identity: ", "--p12-file /keys/a.p12",
		"--p12-password-file /keys/a.txt", "--for-notarization", "--code-signature-flags runtime",
		"--binary-identifier id /x/libmlx.dylib"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %s: %s", want, got)
		}
	}
	t.Setenv(key, "")
	if got := sign(); !strings.Contains(got, "are set together") {
		t.Errorf("a password and no key: %s", got)
	}
	t.Setenv(password, "")
	if got := sign(); got != "ad hoc: "+tool+" sign --shallow --binary-identifier id /x/libmlx.dylib" {
		t.Errorf("ad hoc: %s", got)
	}
	compiled := b.Cache.Path(rcodesignEntry())
	write(filepath.Join(compiled, "bin", "rcodesign"), setup.RcodesignVersion)
	write(filepath.Join(compiled, setup.StampName), "")
	if got := sign(); !strings.HasPrefix(got, "ad hoc: "+compiled) {
		t.Errorf("with one that was compiled here: %s", got)
	}
}

// newTestBuilder has an empty checkout and an empty cache.
func newTestBuilder(t *testing.T) *builder {
	return &builder{&setup.Builder{Root: t.TempDir(), Cache: setup.Cache{Dir: t.TempDir()},
		Out: io.Discard}}
}
