package models_test

import (
	"context"
	"fmt"
	"log"

	"tandem/engine/cache"
	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// Load a model and let it continue a text, always with the likeliest token. Package engine does the
// same with sampling, drafts and checkpoints, for many requests at once.
func Example() {
	ctx := context.Background()
	thread, err := mlx.NewThread(mlx.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer thread.Close()

	// OpenPocket opens the embedded model. Open takes the folder of any other.
	b, err := models.OpenPocket().Load(ctx, thread, models.Options{Dtype: models.DtypeFloat32})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	fmt.Printf("%s: %d parameters, a context of %d tokens\n",
		b.Info.Architecture, b.Info.Parameters, b.Info.ContextLength)

	const text = "func (s *Server) "
	tokens, err := b.Tokenizer.Encode(text, tokenizer.EncodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	caches := cache.Stack(b.Model.NewCaches(cache.Options{}))
	var said []int32
	for range 8 {
		err := thread.Do(ctx, func(s *mlx.Scope) error {
			n := len(tokens)
			out := b.Model.Forward(s, lm.Batch{{
				Tokens: mlx.New(s, tokens, n), N: n, Pos: caches[0].Offset(), Caches: caches,
			}}, nil)
			last := s.Slice(out.Hidden, 0, n-1, n)         // (1, H)
			next := s.Argmax(b.Model.Unembed(s, last), -1) // (1)
			if err := s.Eval(append(caches.Arrays(), next)...); err != nil {
				return err
			}
			ids, err := mlx.Read[uint32](s, next)
			if err != nil {
				return err
			}
			tokens = []int32{int32(ids[0])}
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		said = append(said, tokens...)
	}
	fmt.Printf("%s%s\n", text, b.Tokenizer.Decode(said, true))

	// Output:
	// gemma3_text: 12200064 parameters, a context of 32768 tokens
	// func (s *Server) Version() string {
	// 	return s.version
}

// Ask what a model takes of memory before it is loaded.
func ExampleFootprint() {
	s, err := models.OpenPocket().Summary() // the embedded model; Inspect reads a folder
	if err != nil {
		log.Fatal(err)
	}
	f := s.Footprint
	const wide = true // computing in float32, as on the CPU
	fmt.Println("weights:", f.Weights(wide), "bytes")
	fmt.Println("a text of 1024 tokens:", f.SequenceBytes(1024, wide), "bytes")

	// Output:
	// weights: 48800256 bytes
	// a text of 1024 tokens: 4714496 bytes
}
