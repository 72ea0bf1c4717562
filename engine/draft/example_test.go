package draft_test

import (
	"context"
	"fmt"
	"log"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// Example looks up the continuation of an earlier, equal text. The target would now verify the four
// guesses in one forward.
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
