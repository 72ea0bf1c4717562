package mac

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

// A component is a part of the bundle, with the texts of its licence.
type component struct {
	name  string // with its version
	texts []string
}

// licenceName matches the files in which a package states its terms.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|unlicense)`)

// licences returns the text that lists everything in the bundle with its terms. A package without
// terms is an error, because a person has to look at it.
func (b *builder) licences(ctx context.Context, m metal) (string, error) {
	var all []component
	for _, list := range []func(context.Context) ([]component, error){
		b.ownComponents, func(context.Context) ([]component, error) { return m.components() }, b.goComponents,
		b.rustComponents, b.webComponents,
		func(context.Context) ([]component, error) { return b.starterComponents() },
	} {
		found, err := list(ctx)
		if err != nil {
			return "", err
		}
		all = append(all, found...)
	}
	return licenceText(all)
}

// licenceText writes each text once, below the names of all components that it covers.
func licenceText(all []component) (string, error) {
	var errs []error
	names := map[string][]string{}
	for _, c := range all {
		if len(c.texts) == 0 {
			errs = append(errs, fmt.Errorf("%s has no licence; look at it", c.name))
		}
		for _, text := range c.texts {
			text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
			names[text] = append(names[text], c.name)
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
	s.WriteString("Tandem contains the following, under the terms that stand below each.\n")
	for _, x := range blocks {
		fmt.Fprintf(&s, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), x.title, x.text)
	}
	return s.String(), errors.Join(errs...)
}

// readLicences reads the files of a folder that state terms.
func readLicences(name, dir string) (component, error) {
	c := component{name: name}
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
		c.texts = append(c.texts, string(text))
	}
	return c, nil
}

// components are MLX, mlx-c, and metal-cpp, which is compiled into them.
func (m metal) components() ([]component, error) {
	var list []component
	for _, x := range []struct{ name, file string }{{"MLX " + setup.MLXVersion, "mlx.txt"},
		{"mlx-c " + setup.MLXCVersion, "mlx-c.txt"}, {"metal-cpp", "metal-cpp.txt"}} {
		text, err := os.ReadFile(filepath.Join(m.licences(), x.file))
		if err != nil {
			return nil, err
		}
		list = append(list, component{x.name, []string{string(text)}})
	}
	return list, nil
}

// ownComponents is Tandem itself.
func (b *builder) ownComponents(context.Context) ([]component, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, "LICENSE"))
	return []component{{"Tandem", []string{string(text)}}}, err
}

// starterComponents is the starter model, if setup could fetch it.
func (b *builder) starterComponents() ([]component, error) {
	dir, err := b.Starter()
	if err != nil || dir == "" {
		return nil, err
	}
	c, err := readLicences("The starter model, SmolLM2-135M-Instruct by Hugging Face", dir)
	return []component{c}, err
}

// goComponents are Go itself and the modules in the three programs.
func (b *builder) goComponents(ctx context.Context) ([]component, error) {
	cmd := b.Command(ctx, "go", "list", "-deps", "-tags", "ui,bundle,desktop,production",
		"-json=Module", "./app/cmd/...")
	cmd.Env = append(cmd.Env, "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=1")
	text, err := b.Output(cmd)
	if err != nil {
		return nil, err
	}
	root, err := b.Output(b.Command(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	golang, err := readLicences("Go", root)
	if err != nil {
		return nil, err
	}
	list, seen := []component{golang}, map[string]bool{}
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
		c, err := readLicences(p.Module.Path+" "+p.Module.Version, p.Module.Dir)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

// rustComponents are Rust's standard library and the crates in ours.
func (b *builder) rustComponents(ctx context.Context) ([]component, error) {
	text, err := b.Output(b.Command(ctx, "cargo", "metadata", "--locked", "--format-version", "1",
		"--filter-platform", setup.MacTriple,
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
	var list []component
	for _, p := range metadata.Packages {
		if p.Source == nil { // ours
			continue
		}
		c, err := readLicences(p.Name+" "+p.Version, filepath.Dir(p.ManifestPath))
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
		if strings.HasPrefix(c.name, "hashbrown ") {
			list = append(list, component{"The Rust standard library", c.texts})
		}
	}
	return list, nil
}

// packageSource matches the name of a package in the path of one of its files.
var packageSource = regexp.MustCompile(`/node_modules/((?:@[\w.-]+/)?[\w.-]+)/`)

// webComponents are the packages in the interface, as Vite's source map names them.
func (b *builder) webComponents(ctx context.Context) ([]component, error) {
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
	var list []component
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
		c, err := readLicences(name+" "+p.Version, folder)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
