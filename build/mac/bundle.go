package mac

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"tandem/build/program"
	"tandem/build/setup"
)

// Places in Tandem.app, below Contents.
const (
	inMain     = "MacOS/Tandem"
	inTandem   = "Resources/bin/tandem"
	inMLX      = "Resources/mlx"
	inStarter  = "Resources/models/" + setup.StarterFile
	inIcon     = "Resources/Tandem.icns"
	inLicences = "Resources/Licences.txt"
	inAgent    = "Library/LaunchAgents/" + agentLabel + ".plist"
	inWindow   = "Helpers/Tandem Window.app/Contents"

	windowName = "Tandem Window"
	bundleID   = "dev.tandem.Tandem"
	windowID   = bundleID + ".window"
	agentLabel = bundleID + ".login"
)

// parts has everything that goes into a bundle. A program that could not be built here has an empty
// path, and so has a starter that could not be fetched.
type parts struct {
	product   program.Product
	addresses program.Addresses
	tandem    string
	menubar   string
	window    string
	starter   string // a model's file
	metal     metal
	licences  string
	icon      []byte // for the app and the window
}

// assemble makes Tandem.app at path, and removes what was there.
func (b *builder) assemble(path string, p parts) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	contents := filepath.Join(path, "Contents")
	put := func(name, from string, mode os.FileMode) error {
		to := filepath.Join(contents, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := setup.CopyFile(to, from); err != nil {
			return err
		}
		return os.Chmod(to, mode)
	}
	write := func(name string, text []byte) error {
		to := filepath.Join(contents, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	}
	for _, x := range []struct{ name, from string }{{inTandem, p.tandem}, {inMain, p.menubar},
		{inWindow + "/MacOS/" + windowName, p.window}} {
		if x.from == "" {
			continue
		}
		if err := put(x.name, x.from, 0o755); err != nil {
			return err
		}
	}
	if p.starter != "" {
		if err := placeLarge(filepath.Join(contents, filepath.FromSlash(inStarter)),
			p.starter); err != nil {
			return err
		}
	}
	sets := os.DirFS(p.metal.sets())
	files, err := regularFiles(sets)
	if err != nil {
		return err
	}
	for _, name := range files {
		mode := os.FileMode(0o755)
		if filepath.Ext(name) == ".metallib" {
			mode = 0o644
		}
		if err := put(inMLX+"/"+name, filepath.Join(p.metal.sets(), name), mode); err != nil {
			return err
		}
	}
	window := p.product
	window.Name, window.OutputFilename, window.Info.ProductName = windowName, windowName, windowName
	for _, x := range []struct {
		template, name string
		product        program.Product
	}{
		{"Tandem.plist", "Info.plist", p.product}, {"Info.plist", inWindow + "/Info.plist", window}, {"Login.plist", inAgent, p.product},
	} {
		text, err := fillPlist(filepath.Join(b.Root, "build", "darwin", x.template), x.product)
		if err != nil {
			return err
		}
		if err := write(x.name, text); err != nil {
			return err
		}
	}
	for _, name := range []string{inIcon, inWindow + "/Resources/iconfile.icns"} {
		if err := write(name, p.icon); err != nil {
			return err
		}
	}
	return write(inLicences, []byte(p.licences))
}

// placeLarge puts a file into the bundle without a second copy on the disk, where the disk allows it.
func placeLarge(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return setup.CopyFile(to, from) // another disk
}

// fillPlist fills the template of a property list with our names, and with the values that Wails
// gives to build/darwin/Info.plist.
func fillPlist(path string, p program.Product) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := template.New(filepath.Base(path)).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	for _, s := range []*string{&p.Name, &p.OutputFilename, &p.Info.CompanyName,
		&p.Info.ProductName, &p.Info.ProductVersion, &p.Info.Copyright, &p.Info.Comments} {
		var b bytes.Buffer
		if err := xml.EscapeText(&b, []byte(*s)); err != nil {
			return nil, err
		}
		*s = b.String()
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		program.Product
		ID, Agent, MinimumOS string
	}{p, bundleID, agentLabel, setup.MacOSTarget}); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b.Bytes(), nil
}
