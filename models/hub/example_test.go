package hub_test

import (
	"fmt"

	"tandem/models/hub"
)

// What a person pastes becomes the id and the revision of a model.
func ExampleParsePull() {
	for _, pasted := range []string{
		"mlx-community/Qwen3-0.6B-4bit",
		"https://huggingface.co/Qwen/Qwen3-0.6B/tree/refs%2Fpr%2F1",
		"Qwen3-0.6B",
	} {
		id, revision, err := hub.ParsePull(hub.FromPage(pasted, hub.DefaultEndpoint))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(id, revision)
	}

	// Output:
	// mlx-community/Qwen3-0.6B-4bit main
	// Qwen/Qwen3-0.6B refs/pr/1
	// which "Qwen3-0.6B"? Write it as ORG/NAME, for example Qwen/Qwen3-8B
}
