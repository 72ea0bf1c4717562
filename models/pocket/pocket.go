// Package pocket holds the model that is built into every binary: a small code model in Gemma 3's
// form. The first run, the tests and the benches need no network with it. README.md is its model
// card. build/pocket is the recipe that made it.
package pocket

import (
	"embed"
	"io/fs"
)

//go:embed README.md *.json *.jinja *.safetensors drafter
var files embed.FS

// Files returns the model's folder as a read-only file system in the layout of a Hugging Face
// checkpoint: config.json, tokenizer.json, tokenizer_config.json, chat_template.jinja,
// generation_config.json, model.safetensors (bfloat16) and the model card. It is safe for
// concurrent use.
func Files() fs.FS { return files }

// Drafter is the folder of the model's drafter.
const Drafter = "drafter"

// DrafterFiles returns the folder of the model's DFlash drafter, config.json and model.safetensors.
func DrafterFiles() fs.FS {
	sub, err := fs.Sub(files, Drafter)
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}
