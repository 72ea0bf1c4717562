package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tandem/build/program"
	"tandem/build/setup"
)

// apiTests runs the tests of the API that the makers of openai and anthropic publish with their
// source. api_tests.toml lists those that can't pass.
func (t *clientTier) apiTests(ctx context.Context) error {
	sources, err := publishedSources(ctx, t.Builder, t.python, "openai", "anthropic")
	if err != nil {
		return err
	}
	embedder, err := t.textModel(ctx, "embedder")
	if err != nil {
		return err
	}
	return t.serve(ctx, t.scripted("any.json", "--context", "4096"), func(s *program.Server) error {
		add := t.Command(ctx, t.program, "models", "add", embedder)
		add.Env = append(add.Env, "TANDEM_HOME="+s.Home)
		if _, err := t.Output(add); err != nil {
			return err
		}
		var errs []error
		for _, name := range []string{"openai", "anthropic"} {
			errs = append(errs, t.client(ctx, name+", Python", t.python, clientsDir+"/api_tests.py",
				name, s.URL, sources[name]))
		}
		return errors.Join(errs...)
	})
}

// publishedSources returns the folders of what the makers of packages published as source, which
// has their tests. The versions are those of requirements.txt.
func publishedSources(
	ctx context.Context, b *setup.Builder, python string, packages ...string,
) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, clientsDir, "requirements.txt"))
	if err != nil {
		return nil, err
	}
	var pins strings.Builder
	for _, name := range packages {
		pin := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `==.*(\n +--hash.*)*\n?`).Find(text)
		if pin == nil {
			return nil, fmt.Errorf("requirements.txt does not pin %s", name)
		}
		pins.Write(pin)
	}
	dir, err := b.Cache.Ensure(ctx, setup.Entry{Name: "clients-sources", Inputs: []string{pins.String()}},
		func(dir string) error {
			file := filepath.Join(dir, "requirements.txt")
			if err := os.WriteFile(file, []byte(pins.String()), 0o644); err != nil {
				return err
			}
			if err := b.Step("published sources: fetch "+strings.Join(packages, ", "),
				b.Command(ctx, python, "-m", "pip", "download", "--no-deps", "--no-binary=:all:",
					"--require-hashes", "-d", dir, "-r", file)); err != nil {
				return err
			}
			archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
			for _, a := range archives {
				err = errors.Join(err, b.Step("published sources: unpack "+filepath.Base(a),
					b.Command(ctx, "tar", "-xzf", a, "-C", dir)))
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, name := range packages {
		found, err := filepath.Glob(filepath.Join(dir, name+"-*", "tests"))
		if err != nil || len(found) != 1 {
			return nil, fmt.Errorf("%d published sources of %s have tests, want one: %v",
				len(found), name, err)
		}
		sources[name] = filepath.Dir(found[0])
	}
	return sources, nil
}
