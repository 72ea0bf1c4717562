package mac

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// bytes returns the blob of a file's signature.
func (s signature) bytes() []byte {
	if s.flags == 0 {
		s.flags = flagAdHoc
	}
	const indexBytes, directoryBytes, headBytes = 28, 24, 8
	directory := binary.BigEndian.AppendUint32(nil, codeDirectoryMagic)
	for _, w := range []uint32{uint32(directoryBytes + len(s.identifier) + 1), 0x20400, s.flags, 0,
		directoryBytes} {
		directory = binary.BigEndian.AppendUint32(directory, w)
	}
	directory = append(directory, s.identifier+"\x00"...)
	var token []byte
	if s.stamped {
		token = timestampToken
	}
	var blob []byte
	for _, w := range []uint32{superBlobMagic,
		uint32(indexBytes + len(directory) + headBytes + len(token)), 2,
		slotCodeDirectory, indexBytes, slotCMS, uint32(indexBytes + len(directory))} {
		blob = binary.BigEndian.AppendUint32(blob, w)
	}
	blob = append(blob, directory...)
	blob = binary.BigEndian.AppendUint32(blob, 0xfade0b01)
	return append(binary.BigEndian.AppendUint32(blob, uint32(headBytes+len(token))), token...)
}

// A testBundle is a whole bundle of made-up programs and libraries. A test changes it before it is
// written.
type testBundle struct {
	binaries map[string]binarySpec // below Contents
	modes    map[string]os.FileMode
	product  program.Product
}

func newTestBundle() testBundle {
	system := "/usr/lib/libSystem.B.dylib"
	mlxc := binarySpec{library: "@rpath/libmlxc.dylib",
		loads: []string{system, "@rpath/libmlx.dylib"}, rpaths: []string{"@loader_path"},
		exports: []string{"_mlx_add"}, imports: map[string]int{"_add": 1}}
	return testBundle{
		binaries: map[string]binarySpec{
			inMain: {loads: []string{system}},
			inWindow + "/MacOS/" + windowName: {loads: []string{system,
				"/System/Library/Frameworks/WebKit.framework/Versions/A/WebKit"}},
			inTandem: {loads: []string{system, "@rpath/" + selectLib},
				rpaths:  []string{"@executable_path/../mlx"},
				imports: map[string]int{"_mlx_add": 1, "_read": 0}},
			inMLX + "/" + selectLib: {library: "@rpath/" + selectLib, loads: []string{system},
				exports: []string{"_mlx_add"}},
			inMLX + "/14/" + mlxcLib: mlxc,
			inMLX + "/26/" + mlxcLib: mlxc,
			inMLX + "/14/" + mlxLib: {library: "@rpath/libmlx.dylib", loads: []string{system},
				exports: []string{"_add"}},
			inMLX + "/26/" + mlxLib: {library: "@rpath/libmlx.dylib", minOS: "26.2",
				loads: []string{system, "@rpath/libjaccl.dylib"}, exports: []string{"_add"}},
			inMLX + "/26/libjaccl.dylib": {library: "@rpath/libjaccl.dylib", minOS: "26.2",
				loads: []string{system}},
		},
		modes: map[string]os.FileMode{},
		product: program.Product{Name: "Tandem", OutputFilename: "Tandem",
			Info: program.ProductInfo{ProductName: "Tandem", ProductVersion: "1.2.3",
				Comments: "Runs <models> & serves them"}},
	}
}

// write assembles the bundle as the verb does, and returns its path.
func (x testBundle) write(t *testing.T) string {
	t.Helper()
	b := &builder{&setup.Builder{Root: "../.."}}
	work := t.TempDir()
	put := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := parts{product: x.product, metal: metal{work}, licences: "terms\n",
		icon: []byte("pictures"), starter: put("cache/"+setup.StarterFile, []byte("GGUF"))}
	for name, spec := range x.binaries {
		if spec.signed.identifier == "" {
			spec.signed.identifier = identifierOf("Contents/" + name)
		}
		if rest, ok := strings.CutPrefix(name, inMLX+"/"); ok {
			put("sets/"+rest, spec.bytes())
			continue
		}
		path := put("programs/"+name, spec.bytes())
		switch name {
		case inMain:
			p.menubar = path
		case inTandem:
			p.tandem = path
		default:
			p.window = path
		}
	}
	for _, s := range metalSets {
		put("sets/"+s.name+"/"+metallib, []byte("kernels"))
	}
	bundle := filepath.Join(t.TempDir(), "Tandem.app")
	if err := b.assemble(bundle, p); err != nil {
		t.Fatal(err)
	}
	for _, name := range seals {
		path := filepath.Join(bundle, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("hashes"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return bundle
}

// findings validates a folder.
func findings(t *testing.T, bundle string, want expectation) []string {
	t.Helper()
	v, err := validate(os.DirFS(bundle), want)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range v.findings {
		all = append(all, f.Error())
	}
	return all
}

// TestEachFaultOfABundleIsFound breaks a bundle in one way after another.
func TestEachFaultOfABundleIsFound(t *testing.T) {
	right := newTestBundle()
	if got := findings(t, right.write(t), expectation{signing: adHoc,
		product: right.product}); len(got) > 0 {
		t.Fatalf("a right bundle has the findings %q", got)
	}

	edit := func(name string, f func(*binarySpec)) func(*testBundle) {
		return func(x *testBundle) {
			spec := x.binaries[name]
			f(&spec)
			x.binaries[name] = spec
		}
	}
	main, tandem, lib := inMain, inTandem, inMLX+"/14/"+mlxLib
	for _, c := range []struct {
		name  string
		build func(*testBundle)
		want  string
	}{
		{"another processor", edit(main, func(s *binarySpec) { s.cpu = 0x01000007 }), "not for Apple silicon"},
		{"a newer system", edit(main, func(s *binarySpec) { s.minOS = "15.0" }), "needs macOS 15.0; it has to run from 14.0 on"},
		{"the newer set's library in the older", edit(lib, func(s *binarySpec) { s.minOS = "26.2" }), "14/libmlx.dylib needs macOS 26.2"},
		{"no signature", edit(tandem, func(s *binarySpec) { s.unsigned = true }), "bin/tandem is not signed"},
		{"a path of the builder", edit(tandem, func(s *binarySpec) { s.text = "at /Users/p.q/.cargo/registry/x.rs" }), "bin/tandem holds /Users/p.q/.cargo, a path"},
		{"a path of another builder", edit(inMLX+"/14/"+mlxcLib, func(s *binarySpec) { s.text = "/root/go" }), "libmlxc.dylib holds /root/go"},
		{"a path with spaces", edit(tandem, func(s *binarySpec) { s.text = "at /Volumes/Meine Platte/Jörg/tandem/x.rs" }), "bin/tandem holds /Volumes/Meine Platte/Jörg, a path"},
		{"Homebrew's library", edit(tandem, func(s *binarySpec) { s.loads[1] = "/opt/homebrew/lib/libmlxc.dylib" }), "neither in the bundle nor part of the system"},
		{"a library that is not there", edit(inMLX+"/26/"+mlxLib, func(s *binarySpec) { s.loads[1] = "@rpath/libother.dylib" }), "loads @rpath/libother.dylib"},
		{"no way to the libraries", edit(tandem, func(s *binarySpec) { s.rpaths = nil }), "loads @rpath/" + selectLib},
		{"the wrong way", edit(tandem, func(s *binarySpec) { s.rpaths = []string{"@executable_path/mlx"} }), "loads @rpath/" + selectLib},
		{"no way from library to library", edit(inMLX+"/14/"+mlxcLib, func(s *binarySpec) { s.rpaths = nil }), "14/libmlxc.dylib loads @rpath/libmlx.dylib"},
		{"a folder of the builder", edit(tandem, func(s *binarySpec) { s.rpaths = append(s.rpaths, "/Users/p/src/lib") }), "a folder of the machine that built it"},
		{"an absolute name", edit(lib, func(s *binarySpec) { s.library = "/usr/local/lib/libmlx.dylib" }), "has to be @rpath/libmlx.dylib"},
		{"a function too few in front", edit(inMLX+"/"+selectLib, func(s *binarySpec) { s.exports = []string{"_mlx_mul"} }), "takes _mlx_add from"},
		{"a function too few in the newer set", edit(inMLX+"/26/"+mlxcLib, func(s *binarySpec) { s.exports = []string{"_mlx_mul"} }), selectLib + " takes _mlx_add from Contents/" + inMLX + "/26"},
		{"a function too few in MLX", edit(inMLX+"/26/"+mlxLib, func(s *binarySpec) { s.exports = []string{"_mul"} }), "26/libmlxc.dylib takes _add from"},
		{"a function from anywhere", edit(tandem, func(s *binarySpec) { s.imports["_mlx_add"] = -1 }), "takes _mlx_add, and 0 more, from any library"},
		{"a library without a program", func(x *testBundle) {
			x.binaries[inMLX+"/14/libjaccl.dylib"] = x.binaries[inMLX+"/26/libjaccl.dylib"]
		}, "no program loads Contents/" + inMLX + "/14/libjaccl.dylib"},
		{"no menu bar", func(x *testBundle) { delete(x.binaries, inMain) }, "Contents/MacOS/Tandem is missing"},
		{"another version", func(x *testBundle) { x.product.Info.ProductVersion = "1.2.4" }, "CFBundleVersion is 1.2.4; it has to be 1.2.3"},
		{"another executable", func(x *testBundle) { x.product.OutputFilename = "Other" }, "CFBundleExecutable is Other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newTestBundle()
			c.build(&x)
			wantFinding(t, findings(t, x.write(t),
				expectation{signing: adHoc, product: right.product,
					private: []string{"/Volumes/Meine Platte/Jörg"}}), c.want)
		})
	}

	contents := func(name string) string {
		return filepath.Join("Contents", filepath.FromSlash(name))
	}
	for _, c := range []struct {
		name   string
		damage func(bundle string) error
		want   string
	}{
		{"a stray file", func(b string) error {
			return os.WriteFile(filepath.Join(b, contents("Resources/.DS_Store")), []byte("x"),
				0o644)
		}, ".DS_Store does not belong there"},
		{"data among programs", func(b string) error {
			return os.WriteFile(filepath.Join(b, contents("MacOS/notes.txt")), []byte("x"), 0o644)
		}, "notes.txt is no program or library"},
		{"no kernels", func(b string) error { return os.Remove(filepath.Join(b, contents(inMLX+"/26/"+metallib))) }, "26/mlx.metallib is missing"},
		{"no kernels inside", func(b string) error { return os.Truncate(filepath.Join(b, contents(inMLX+"/26/"+metallib)), 0) }, "26/mlx.metallib is empty"},
		{"no licences", func(b string) error { return os.Remove(filepath.Join(b, contents(inLicences))) }, "Licences.txt is missing"},
		{"no starter", func(b string) error { return os.Remove(filepath.Join(b, contents(inStarter))) }, "starter.gguf is missing"},
		{"no icon", func(b string) error { return os.Remove(filepath.Join(b, contents(inIcon))) }, `there is no icon "Tandem"`},
		{"no seal", func(b string) error { return os.Remove(filepath.Join(b, seals[0])) }, "CodeResources is missing"},
		{"a program that cannot run", func(b string) error { return os.Chmod(filepath.Join(b, contents(inTandem)), 0o644) }, "is a program, but not executable"},
		{"data that can", func(b string) error { return os.Chmod(filepath.Join(b, contents(inLicences)), 0o755) }, "Licences.txt is executable"},
		{"a link out", func(b string) error { return os.Symlink("/opt/homebrew", filepath.Join(b, contents("Resources/lib"))) }, "a link to /opt/homebrew, outside the bundle"},
		{"a link up and out", func(b string) error { return os.Symlink("../../../lib", filepath.Join(b, contents("Resources/lib"))) }, "outside the bundle"},
		{"a link to nothing", func(b string) error { return os.Symlink("gone", filepath.Join(b, contents("Resources/lib"))) }, "a link to gone, which is not there"},
		{"half a library", func(b string) error { return os.Truncate(filepath.Join(b, contents(inMLX+"/14/"+mlxLib)), 64) }, "14/libmlx.dylib"},
		{"a script for a library", func(b string) error {
			return os.WriteFile(filepath.Join(b, contents(inMLX+"/14/"+mlxLib)),
				[]byte("#!/bin/sh\n"), 0o644)
		}, "libmlx.dylib is no program or library"},
		{"a Dock icon", replaceIn("Contents/Info.plist", "<key>LSUIElement</key>\n\t<true/>", ""), "LSUIElement is <nil>; it has to be true"},
		{"an old system", replaceIn("Contents/Info.plist", "<string>14.0</string>", "<string>12.0</string>"), "LSMinimumSystemVersion is 12.0"},
		{"the window's name on the app", replaceIn("Contents/Info.plist", bundleID, windowID), "CFBundleIdentifier is " + windowID},
		{"no property list", replaceIn("Contents/Info.plist", "<plist", "<list"), "Info.plist: plist: "},
		{"half a property list", replaceIn("Contents/"+inWindow+"/Info.plist", "</dict>\n</plist>", ""), "Window.app/Contents/Info.plist"},
		{"no name", replaceIn("Contents/Info.plist", "<key>CFBundleName</key>", "<key>CFBundleVersion</key>"), "CFBundleName is <nil>; it has to be Tandem"},
		{"a login that shows a window", replaceIn("Contents/"+inAgent, "--login", "--log"), "have to end in --login"},
		{"a login of another program", replaceIn("Contents/"+inAgent, "Contents/MacOS/Tandem</string>\n\t<key>Label", "Contents/MacOS/Other</string>\n\t<key>Label"), "BundleProgram is Contents/MacOS/Other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bundle := newTestBundle().write(t)
			if err := c.damage(bundle); err != nil {
				t.Fatal(err)
			}
			wantFinding(t, findings(t, bundle, expectation{signing: adHoc, product: right.product}),
				c.want)
		})
	}
}

// replaceIn replaces a text in a file, which has to contain it.
func replaceIn(name, old, new string) func(string) error {
	return func(bundle string) error {
		path := filepath.Join(bundle, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte(old)) {
			return fmt.Errorf("%s does not say %q", name, old)
		}
		return os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644)
	}
}

func wantFinding(t *testing.T, got []string, want string) {
	t.Helper()
	if !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, want) }) {
		t.Errorf("found %q, want one that says %q", got, want)
	}
}

// TestOnlyAnnouncedPartsMayBeMissing leaves out the parts that only a Mac makes, and the starter.
func TestOnlyAnnouncedPartsMayBeMissing(t *testing.T) {
	x := newTestBundle()
	delete(x.binaries, inMain)
	delete(x.binaries, inWindow+"/MacOS/"+windowName)
	bundle := x.write(t)
	for _, name := range seals {
		if err := os.Remove(filepath.Join(bundle, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(bundle, "Contents", inStarter)); err != nil {
		t.Fatal(err)
	}
	v, err := validate(os.DirFS(bundle), expectation{signing: adHoc, product: x.product,
		withoutFaces: true, withoutSeal: true, withoutStarter: true})
	if absent := slices.Concat([]string{"Contents/" + inStarter}, faces, seals); err != nil ||
		len(v.findings) > 0 || !slices.Equal(v.absent, absent) {
		t.Errorf("%v, findings %v, absent %q", err, v.findings, v.absent)
	}
	if got := findings(t, bundle, expectation{signing: adHoc, product: x.product,
		withoutFaces: true, withoutStarter: true}); len(got) != len(seals) {
		t.Errorf("without seals that were wanted: %q", got)
	}
	if err := os.Remove(filepath.Join(bundle, "Contents", inLicences)); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, findings(t, bundle, expectation{signing: adHoc, product: x.product,
		withoutFaces: true, withoutSeal: true, withoutStarter: true}), "Licences.txt is missing")
}

// TestEachFileIsListedOnce expects the largest file first, and a total of all.
func TestEachFileIsListedOnce(t *testing.T) {
	x := newTestBundle()
	bundle := x.write(t)
	v, err := validate(os.DirFS(bundle), expectation{signing: adHoc, product: x.product})
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, f := range v.files {
		total += f.size
		if n := strings.Count(v.table(), "  "+f.name+"\n"); n != 1 {
			t.Errorf("%s is listed %d times", f.name, n)
		}
	}
	if lines := strings.Split(strings.TrimSpace(v.table()),
		"\n"); !strings.HasPrefix(strings.TrimSpace(lines[len(lines)-1]), fmt.Sprint(total)+" ") {
		t.Errorf("the total is %q, want %d", lines[len(lines)-1], total)
	}
}

// TestRetryEndsWithTheLastError expects another try after a failure, and the last error after five.
func TestRetryEndsWithTheLastError(t *testing.T) {
	for _, c := range []struct{ failures, calls int }{{0, 1}, {4, 5}, {5, 5}} {
		calls := 0
		err := retry(t.Context(), 5, 0, func() error {
			if calls++; calls <= c.failures {
				return fmt.Errorf("failure %d", calls)
			}
			return nil
		})
		if calls != c.calls || (err != nil) != (c.failures == 5) || err != nil &&
			err.Error() != "failure 5" {
			t.Errorf("%d failures: %d calls, %v", c.failures, calls, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	if err := retry(ctx, 5, time.Hour,
		func() error { calls++; return errors.New("no") }); err == nil || calls != 1 {
		t.Errorf("ended: %d calls, %v", calls, err)
	}
}
