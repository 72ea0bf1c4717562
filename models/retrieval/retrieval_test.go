package retrieval_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/engine/cache"
	"tandem/engine/enginetest"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/models/retrieval"
)

// maxBytes is what the model and its parts may add to the binary.
const maxBytes = 5 << 20

func TestFilesStayWithinTheirBytes(t *testing.T) {
	var total int64
	err := fs.WalkDir(retrieval.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if total > maxBytes {
		t.Errorf("the model takes %d bytes, at most %d are allowed", total, maxBytes)
	}
}

// TestFThetaFitsModelAndDrafter compares its config with those of the model and the drafter.
func TestFThetaFitsModelAndDrafter(t *testing.T) {
	type config struct {
		Layers  int `json:"num_hidden_layers"`
		KVHeads int `json:"num_key_value_heads"`
		HeadDim int `json:"head_dim"`
	}
	type shape struct {
		DrafterLayers   int `json:"drafter_num_layers"`
		DrafterKVHeads  int `json:"drafter_num_kv_heads"`
		DrafterHeadDim  int `json:"drafter_head_dim"`
		VerifierLayers  int `json:"verifier_num_layers"`
		VerifierKVHeads int `json:"verifier_num_kv_heads"`
		VerifierHeadDim int `json:"verifier_head_dim"`
	}
	var target, drafter config
	read(t, "config.json", &target)
	read(t, "drafter/config.json", &drafter)
	want := shape{drafter.Layers, drafter.KVHeads, drafter.HeadDim,
		target.Layers, target.KVHeads, target.HeadDim}
	var got shape
	read(t, "f_theta/f_theta_config.json", &got)
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := fs.Stat(retrieval.Files(), "f_theta/model.safetensors"); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	data, err := fs.ReadFile(retrieval.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestModelAnswersWithTheHiddenCode hides ten codes among 60 to 80 lines and decodes greedily.
func TestModelAnswersWithTheHiddenCode(t *testing.T) {
	th := enginetest.NewThread(t)
	b, err := models.OpenFS(retrieval.Files(), "retrieval").Load(t.Context(), th, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	random := rand.New(rand.NewPCG(42, 0))
	const asked, least = 10, 9
	found := 0
	for range asked {
		prompt, code := hide(random)
		answer := decode(t, th, b, prompt, 8)
		if answer == code+"<|im_end|>" {
			found++
		} else {
			t.Logf("%q instead of %q", answer, code)
		}
	}
	if found < least {
		t.Errorf("%d of %d codes found, want at least %d", found, asked, least)
	}
}

// hide returns a prompt of the model's kind and the code that it hides. See build/retrieval.
func hide(random *rand.Rand) (prompt, code string) {
	prefixes := strings.Fields("AMBER BASIL CEDAR DELTA EMBER FALCON GRANITE HARBOR INDIGO JASPER " +
		"KESTREL LAGOON MAPLE NIMBUS ORCHID")
	fillers := strings.Fields("calm cold green narrow soft small dry round mild flat clear dull")
	things := strings.Fields("river stone window basket pillow orchard bridge barn teapot carpet")
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	const edge = 4 // lines at either end that never hide the code
	lines := make([]string, 60+random.IntN(21))
	for i := range lines {
		lines[i] = fmt.Sprintf("Note %04d: %s %s.", i, pick(fillers), pick(things))
	}
	code = fmt.Sprintf("%s-%d", pick(prefixes), 1000+random.IntN(9000))
	at := edge + random.IntN(len(lines)-2*edge+1)
	lines = slices.Insert(lines, at, "IMPORTANT: the secret code is "+code+".")
	return "<|im_start|>user\n" + strings.Join(lines, "\n") + "\n\nQuestion: what is the secret code " +
		"that stands in the notes above? Answer with only the code and nothing else.<|im_end|>\n" +
		"<|im_start|>assistant\n", code
}

// decode returns the likeliest text of at most n tokens after a prompt, with the token that ends it.
func decode(t *testing.T, th *mlx.Thread, b *models.Bundle, prompt string, n int) string {
	t.Helper()
	tokens, err := b.Tokenizer.Encode(prompt, tokenizer.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	caches := cache.Stack(b.Model.NewCaches(cache.Options{}))
	defer enginetest.Do(t, th, func(s *mlx.Scope) error {
		for _, c := range caches {
			c.Free(s)
		}
		return nil
	})
	end, _ := b.Tokenizer.ID("<|im_end|>")
	var said []int32
	for len(said) < n && !slices.Contains(said, end) {
		enginetest.Do(t, th, func(s *mlx.Scope) error {
			rows := len(tokens)
			out := b.Model.Forward(s, lm.Batch{{Tokens: mlx.New(s, tokens, rows), N: rows,
				Pos: caches[0].Offset(), Caches: caches}}, nil)
			next := s.Argmax(b.Model.Unembed(s, s.Slice(out.Hidden, 0, rows-1, rows)), -1)
			if err := s.Eval(append(caches.Arrays(), next)...); err != nil {
				return err
			}
			ids, err := mlx.Read[uint32](s, next)
			if err == nil {
				tokens = []int32{int32(ids[0])}
			}
			return err
		})
		said = append(said, tokens[0])
	}
	return b.Tokenizer.Decode(said, false)
}
