// Package licences lists the licences of everything that a distribution contains, with their texts
// and notices: Tandem, Go and its modules, Rust and its crates, the interface's packages, and what
// the caller adds. It is our own work because go-licenses v1.6.0 knows Go modules alone, calls the
// licence of modernc.org/mathutil unknown, and brings 26 modules into the build.
package licences

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/build/setup"
)

// A Component is a part of a distribution, with the texts of its licence.
type Component struct {
	Name  string
	Texts []string
}

// A Target is what the distribution was built for.
type Target struct {
	GOOS, GOARCH string
	Tags         string // of the programs
	Programs     string // a pattern of packages
	Triple       string // Rust's name of the system
}

// licenceName matches the files in which a package states its terms.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|unlicense)`)

// Text returns the text that lists everything in a distribution with its terms: parts, and what the
// build itself names. A part without terms is an error, because a person has to look at it.
func Text(ctx context.Context, b *setup.Builder, t Target, parts ...Component) (string, error) {
	for _, list := range []func(context.Context, *setup.Builder, Target) ([]Component, error){
		tandem, goModules, crates, packages, starter,
	} {
		found, err := list(ctx, b, t)
		if err != nil {
			return "", err
		}
		parts = append(parts, found...)
	}
	return textOf(parts)
}

// textOf writes each text once, below the names of all components that it covers.
func textOf(all []Component) (string, error) {
	var errs []error
	names := map[string][]string{}
	for _, c := range all {
		if len(c.Texts) == 0 {
			errs = append(errs, fmt.Errorf("%s has no licence; look at it", c.Name))
		}
		for _, text := range c.Texts {
			text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
			names[text] = append(names[text], c.Name)
		}
	}
	type block struct{ title, text string }
	var blocks []block
	for text, list := range names {
		slices.Sort(list)
		blocks = append(blocks, block{strings.Join(slices.Compact(list), "\n"), text})
	}
	slices.SortFunc(blocks, func(x, y block) int {
		return cmp.Or(cmp.Compare(x.title, y.title),
			cmp.Compare(x.text, y.text))
	})
	var s strings.Builder
	s.WriteString("Tandem contains the following, under the terms below each.\n")
	for _, x := range blocks {
		fmt.Fprintf(&s, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), x.title, x.text)
	}
	return s.String(), errors.Join(errs...)
}

// Read reads the files of a folder that state terms.
func Read(name, dir string) (Component, error) {
	c := Component{Name: name}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return c, err
		}
		c.Texts = append(c.Texts, string(text))
	}
	return c, nil
}

// tandem is Tandem itself.
func tandem(_ context.Context, b *setup.Builder, _ Target) ([]Component, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, "LICENSE"))
	return []Component{{"Tandem", []string{string(text)}}}, err
}

// starter is the starter model, if setup could fetch it.
func starter(_ context.Context, b *setup.Builder, _ Target) ([]Component, error) {
	dir, err := b.Starter()
	if err != nil || dir == "" {
		return nil, err
	}
	c, err := Read("The starter model, SmolLM2-135M-Instruct by Hugging Face", dir)
	return []Component{c}, err
}

// goModules are Go itself and the modules in the programs.
func goModules(ctx context.Context, b *setup.Builder, t Target) ([]Component, error) {
	cmd := b.Command(ctx, "go", "list", "-deps", "-tags", t.Tags, "-json=Module", t.Programs)
	cmd.Env = append(cmd.Env, "GOOS="+t.GOOS, "GOARCH="+t.GOARCH)
	text, err := b.Output(cmd)
	if err != nil {
		return nil, err
	}
	root, err := b.Output(b.Command(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	golang, err := Read("Go", root)
	if err != nil {
		return nil, err
	}
	list, seen := []Component{golang}, map[string]bool{}
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil || p.Module.Main || seen[p.Module.Path] {
			continue
		}
		seen[p.Module.Path] = true
		c, err := Read(p.Module.Path+" "+p.Module.Version, p.Module.Dir)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

// crates are Rust's standard library and the crates in ours.
func crates(ctx context.Context, b *setup.Builder, t Target) ([]Component, error) {
	text, err := b.Output(b.Command(ctx, "cargo", "metadata", "--locked", "--format-version", "1",
		"--filter-platform", t.Triple,
		"--manifest-path", filepath.Join(b.Root, setup.NativeDir, "Cargo.toml")))
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Packages []struct {
			Name, Version string
			ManifestPath  string `json:"manifest_path"`
			Source        *string
		}
	}
	if err := json.Unmarshal([]byte(text), &metadata); err != nil {
		return nil, fmt.Errorf("cargo metadata: %w", err)
	}
	var list []Component
	for _, p := range metadata.Packages {
		if p.Source == nil { // ours
			continue
		}
		c, err := Read(p.Name+" "+p.Version, filepath.Dir(p.ManifestPath))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("cargo names no crate that ours depends on")
	}
	// Rust's library has the same terms as most crates, and some installations lack a copy of them.
	for _, c := range list {
		if strings.HasPrefix(c.Name, "hashbrown ") {
			list = append(list, Component{"The Rust standard library", c.Texts})
		}
	}
	return list, nil
}

// packageSource matches the name of a package in the path of one of its files.
var packageSource = regexp.MustCompile(`/node_modules/((?:@[\w.-]+/)?[\w.-]+)/`)

// packages are the packages in the interface, as Vite's source map names them.
func packages(ctx context.Context, b *setup.Builder, _ Target) ([]Component, error) {
	dir := filepath.Join(b.Root, setup.FrontendDir)
	sources, err := setup.HashFolder(dir, "node_modules", "dist")
	if err != nil {
		return nil, err
	}
	made, err := b.Cache.Ensure(ctx, setup.Entry{Name: "frontend-map", Inputs: []string{sources}},
		func(out string) error {
			cmd := b.Command(ctx, "npx", "--no-install", "vite", "build", "--sourcemap", "--outDir",
				filepath.Join(out, "dist"), "--emptyOutDir")
			cmd.Dir = dir
			return b.Step("frontend: build with a source map", cmd)
		})
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(made, "dist", "assets", "*.map"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var m struct{ Sources []string }
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, source := range m.Sources {
			// A path into this machine's cache goes through several folders of that name.
			if m := packageSource.FindAllStringSubmatch(source, -1); len(m) > 0 {
				names[m[len(m)-1][1]] = true
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the interface's source map names no package")
	}
	var list []Component
	for _, name := range slices.Sorted(maps.Keys(names)) {
		folder := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
		text, err := os.ReadFile(filepath.Join(folder, "package.json"))
		if err != nil {
			return nil, err
		}
		var p struct{ Version string }
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		c, err := Read(name+" "+p.Version, folder)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
