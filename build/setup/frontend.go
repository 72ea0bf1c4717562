package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FrontendDir is the folder of the interface, below the checkout. Vite writes to its folder dist,
// which Git ignores and the build tag ui embeds. Its node_modules is a link into the cache.
const FrontendDir = "frontend"

// outsideFiles are in the interface too, so a change to one builds it again: the guide for users, of which
// it shows a chapter, and the names of clients.
var outsideFiles = []string{"app/README.md", "app/control/clients.json"}

// OldestNode is the oldest Node.js that Vite runs on.
const OldestNode = "20.19"

// setupFrontend builds the interface if its sources have changed.
func (b *Builder) setupFrontend(ctx context.Context) error {
	if err := b.writeTypes(); err != nil {
		return err
	}
	node, err := b.Output(b.Command(ctx, "node", "--version"))
	if err != nil {
		return err
	}
	modules, err := b.NodeModules(ctx, "node", FrontendDir, node)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.Root, FrontendDir)
	if err := Link(filepath.Join(dir, "node_modules"), modules); err != nil {
		return err
	}
	sources, err := HashFolder(dir, "node_modules", "dist")
	if err != nil {
		return err
	}
	for _, file := range outsideFiles {
		text, err := os.ReadFile(filepath.Join(b.Root, file))
		if err != nil {
			return err
		}
		sources += fmt.Sprintf("-%x", sha256.Sum256(text))
	}
	made, err := b.Cache.Ensure(ctx, Entry{"frontend", []string{node, sources}},
		func(out string) error {
			cmd := b.Command(ctx, "npx", "--no-install", "vite", "build", "--outDir",
				filepath.Join(out, "dist"), "--emptyOutDir")
			cmd.Dir = dir
			return b.Step("frontend: build", cmd)
		})
	if err != nil {
		return err
	}
	return replaceFolder(filepath.Join(dir, "dist"), filepath.Join(made, "dist"), sources)
}

// FrontendRequirements returns the programs that build the interface.
func FrontendRequirements() []Requirement {
	return []Requirement{
		{What: "Node.js " + OldestNode + " or later (https://nodejs.org, where the system's is older)", Apt: "nodejs", brew: "node", Present: newNode},
		{What: "npm", Apt: "npm", brew: "node", Present: OnPath("npm")},
	}
}

// newNode reports whether Node.js is there and new enough.
func newNode(ctx context.Context, b *Builder) bool {
	version, err := b.Output(b.Command(ctx, "node", "--version"))
	return err == nil && CompareVersions(strings.TrimPrefix(version, "v"), OldestNode) >= 0
}

// NodeModules installs what the package-lock.json of a folder pins, as an entry of that name. It
// returns the folder node_modules.
func (b *Builder) NodeModules(ctx context.Context, name, folder, node string) (string, error) {
	inputs := []string{node}
	for _, file := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(b.Root, folder, file))
		if err != nil {
			return "", err
		}
		inputs = append(inputs, string(text))
	}
	dir, err := b.Cache.Ensure(ctx, Entry{name, inputs}, func(dir string) error {
		for i, file := range []string{"package.json", "package-lock.json"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(inputs[i+1]),
				0o644); err != nil {
				return err
			}
		}
		cmd := b.Command(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		cmd.Dir = dir
		return b.Step(folder+": npm ci", cmd)
	})
	return filepath.Join(dir, "node_modules"), err
}

// HashFolder hashes the names and contents of a folder's files. except are entries of its top to
// leave out.
func HashFolder(dir string, except ...string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, name := range except {
			if path == filepath.Join(dir, name) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\n%d\n%s", filepath.ToSlash(rel), len(text), text)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// replaceFolder makes dst a copy of the folder src, unless dst is marked with that version. It
// copies, because embedding takes no links.
func replaceFolder(dst, src, version string) error {
	mark := filepath.Join(dst, StampName)
	if text, err := os.ReadFile(mark); err == nil && strings.TrimSpace(string(text)) == version {
		return nil
	}
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	if err := os.CopyFS(dst, os.DirFS(src)); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(version+"\n"), 0o644)
}
