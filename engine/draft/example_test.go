package draft_test

import (
	"context"
	"fmt"
	"log"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// Example looks up how a text went on where it said the same before. The target would now
// verify the four guesses in one forward.
func Example() {
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		log.Fatal(err)
	}
	defer thread.Close()

	history := []int32{7, 1, 2, 3, 4, 5, 6, 9, 1, 2, 3}
	err = thread.Do(context.Background(), func(s *mlx.Scope) error {
		d, err := draft.Ngram{}.Open(s, draft.Options{Prompt: history})
		if err != nil {
			return err
		}
		defer d.Free(s)
		proposal := d.Propose(s, history, 4)
		guesses, err := mlx.Read[int32](s, proposal.Tokens)
		fmt.Println(proposal.N, "guesses:", guesses)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 4 guesses: [4 5 6 9]
}

// ExampleController chooses a depth by what rounds cost. Here a round with three drafts
// costs half as much again as a plain one and gives four tokens.
func ExampleController() {
	c := draft.NewController(3)
	for range 100 {
		depth := c.Depth(3)
		if depth == 0 {
			c.Plain(10_000_000) // 10 ms
			continue
		}
		c.Round(draft.Round{Depth: depth, Accepted: depth, Cost: 15_000_000})
	}
	fmt.Println(c.Depth(3), "drafts a round")
	// Output:
	// 3 drafts a round
}
