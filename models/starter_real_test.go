//go:build real

package models_test

import (
	"os"
	"path/filepath"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/models/starter"
)

// starterFile returns the path of the starter, which setup has fetched.
func starterFile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("starter", ".deps", "starter.gguf"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("there is no starter; run `go run ./build setup` where PyPI can be reached: %v", err)
	}
	return path
}

// The starter that setup fetched is what its card says, and knows the capital of France.
func TestStarterIsWhatItsCardSays(t *testing.T) {
	path := starterFile(t)
	s, err := models.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Architecture != "llama" {
		t.Errorf(`s.Architecture = %q, want "llama"`, s.Architecture)
	}
	if s.Parameters != 134_515_008 {
		t.Errorf("s.Parameters = %v, want 134_515_008", s.Parameters)
	}
	if s.ContextLength != 8192 {
		t.Errorf("s.ContextLength = %v, want 8192", s.ContextLength)
	}
	if s.Kind != "" {
		t.Errorf(`s.Kind = %q, want ""`, s.Kind)
	}
	if s.NoChat() != "" {
		t.Errorf(`s.NoChat() = %q, want ""`, s.NoChat())
	}
	b := loadStarter(t, path)
	thread := b.Thread()
	// its temperature, under any name
	copied := filepath.Join(t.TempDir(), "other.gguf")
	if err := os.Symlink(path, copied); err != nil {
		t.Fatal(err)
	}
	d, err := readDefaultsOf(copied)
	for _, d := range []models.Defaults{d, b.Defaults} {
		if err != nil || d.Temperature == nil || *d.Temperature != starter.Temperature {
			t.Errorf("its default temperature is %v, %v, want %v", d.Temperature, err,
				starter.Temperature)
		}
	}
	const prompt = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by " +
		"Hugging Face<|im_end|>\n<|im_start|>user\nWhat is the capital of France?<|im_end|>\n" +
		"<|im_start|>assistant\n"
	tokens, err := b.Tokenizer.Encode(prompt, tokenizer.EncodeOptions{})
	if err != nil || len(tokens) != 37 {
		t.Fatalf("the prompt has %d tokens, %v, want 37", len(tokens), err)
	}
	caches := cache.Stack(b.Model.NewCaches(cache.Options{}))
	var said []int32
	for range 8 {
		err := thread.Do(t.Context(), func(s *mlx.Scope) error {
			n := len(tokens)
			out := b.Model.Forward(s, lm.Batch{{
				Tokens: mlx.New(s, tokens, n), N: n, Pos: caches[0].Offset(), Caches: caches,
			}}, nil)
			next := s.Argmax(b.Model.Unembed(s, s.Slice(out.Hidden, 0, n-1, n)), -1)
			if err := s.Eval(append(caches.Arrays(), next)...); err != nil {
				return err
			}
			ids, err := mlx.Read[uint32](s, next)
			if err == nil {
				tokens = []int32{int32(ids[0])}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, tokens...)
	}
	if got := b.Tokenizer.Decode(said, false); got != "The capital of France is Paris.<|im_end|>" {
		t.Errorf("it says %q", got)
	}
}

// The starter's drafter is embedded, known by the starter's file, and has the form and the worth that
// its card says.
func TestStarterHasADrafterOfItsOwn(t *testing.T) {
	path := starterFile(t)
	name := models.BuiltInDrafter(path)
	if name != models.StarterDrafter {
		t.Fatalf("the drafter of %q is %q; run `go run ./build setup` where PyPI can be reached",
			path, name)
	}
	b := loadStarter(t, path)
	d, err := models.LoadDrafter(t.Context(), b, name, models.DrafterSettings{}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Block == nil || d.Block.BlockSize() != 8 || d.Info.FileBytes > 24e6 {
		t.Fatalf("it is %+v with %d bytes", d.Block, d.Info.FileBytes)
	}
	prompt, err := b.Tokenizer.Encode("<|im_start|>user\nWrite a Python function that reverses a list, "+
		"and explain it.<|im_end|>\n<|im_start|>assistant\n", tokenizer.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The drafter guesses the token after the next one, while the starter answers.
	const steps = 60
	caches, context := cache.Stack(b.Model.NewCaches(cache.Options{})), d.Block.NewCaches(cache.Options{})
	stood, guess := 0, int32(-1)
	for range steps {
		err := b.Thread().Do(t.Context(), func(s *mlx.Scope) error {
			n, pos := len(prompt), caches[0].Offset()
			out := b.Model.Forward(s, lm.Batch{{
				Tokens: mlx.New(s, prompt, n), N: n, Pos: pos, Caches: caches,
			}}, d.Block.Taps())
			next := s.AsType(s.Argmax(b.Model.Unembed(s, s.Slice(out.Hidden, 0, n-1, n)), -1), mlx.Int32)
			d.Block.Context(s, out.Taps, pos, context)
			hidden := d.Block.Forward(s, nil, next, 1, pos+n, context)
			place := s.Argmax(d.Block.Unembed(s, hidden), -1)
			said := s.Concat(0, next, s.Take(d.Block.Vocabulary(), place, 0))
			if err := s.Eval(append(append(caches.Arrays(), cache.Stack(context).Arrays()...), said)...); err != nil {
				return err
			}
			ids, err := mlx.Read[int32](s, said)
			if err != nil {
				return err
			}
			if ids[0] == guess {
				stood++
			}
			prompt, guess = ids[:1], ids[1]
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if stood < steps/2 {
		t.Errorf("%d of %d guesses stood; its card says more than half", stood, steps)
	}
}

// loadStarter loads the starter for a test, which need not close it.
func loadStarter(t *testing.T, path string) *models.Bundle {
	thread, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { thread.Close() })
	b, err := models.Load(t.Context(), thread, path, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}
