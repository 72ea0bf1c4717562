package checkpoint_test

import (
	"context"
	"fmt"

	"tandem/engine/cache"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
)

// One sequence leaves its state in the trie. Another text that begins alike restores it, and learns
// where the two part.
func Example() {
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer thread.Close()
	err = thread.Do(context.Background(), func(s *mlx.Scope) error {
		fresh := func() cache.Stack { return cache.Stack{cache.NewKV(0)} } // a model of one layer
		trie := checkpoint.New(fresh(), nil, 1<<20)
		defer trie.Close(s)

		// The first text is new: all its rows are evaluated, captured and kept.
		text := []int32{10, 11, 12, 13, 14, 15}
		path := trie.Begin(text, checkpoint.Label{Prompt: len(text)})
		stack, err := path.Restore(s, fresh)
		if err != nil {
			return err
		}
		layer := stack[0].(cache.Attention)
		if err := layer.Schedule(path.From(), len(text)); err != nil {
			return err
		}
		rows := s.Zeros(mlx.Float32, 1, 1, len(text), 4) // (1, KV, n, D)
		layer.Update(s, rows, rows)
		if err := s.Eval(stack.Arrays()...); err != nil {
			return err
		}
		if err := path.Extend(s, text, layer.Captured()); err != nil {
			return err
		}
		if err := path.Park(s, stack); err != nil {
			return err
		}

		// The second text shares four tokens, so their rows are not evaluated again.
		path = trie.Begin([]int32{10, 11, 12, 13, 20, 21}, checkpoint.Label{})
		stack, err = path.Restore(s, fresh)
		if err != nil {
			return err
		}
		defer path.Close()
		defer stack.Free(s)
		fmt.Println("restored", path.Restored, "tokens; the cache holds", stack[0].Offset())
		fmt.Println("token", path.Divergence.Given, "came instead of", path.Divergence.Kept)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// restored 4 tokens; the cache holds 4
	// token 20 came instead of 14
}
