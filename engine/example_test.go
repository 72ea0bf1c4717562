package engine_test

import (
	"context"
	"fmt"
	"log"

	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/tokenizer"
)

// Example runs a model that knows one text: after each of its letters comes the next one.
// A real model comes from package models.
func Example() {
	ctx := context.Background()
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		log.Fatal(err)
	}
	defer thread.Close()

	const end = 256 // the token that ends a text
	table := make([][]float32, end+1)
	for i := range table {
		table[i] = make([]float32, end+1)
	}
	text := "The quick"
	for i := range len(text) - 1 {
		table[text[i]][text[i+1]] = 10
	}
	table[text[len(text)-1]][end] = 10

	var model *enginetest.Chain
	err = thread.Do(ctx, func(s *mlx.Scope) error {
		model = enginetest.NewChain(s, table, end)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	tok, err := tokenizer.Load(enginetest.ByteTokenizerJSON(), nil)
	if err != nil {
		log.Fatal(err)
	}

	e := engine.New(thread, model, tok, engine.Options{Drafters: []draft.Drafter{draft.Ngram{}}})
	defer e.Close()
	prompt, err := tok.Encode("The", tokenizer.EncodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var stats engine.Stats
	request := engine.Request{
		Prompt:    prompt,
		MaxTokens: new(20),
		Done:      func(s engine.Stats) { stats = s },
	}
	for token, err := range e.Generate(ctx, request) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", token.Text)
	}
	fmt.Println(stats.PromptTokens, "tokens read,", stats.CompletionTokens, "generated:",
		stats.Finish)
	// Output:
	// " "
	// "q"
	// "u"
	// "i"
	// "c"
	// "k"
	// ""
	// 3 tokens read, 7 generated: stop
}
