// Package pocket holds the model that is built into every binary: a small
// code model in Gemma 3's form, so that the first run, the tests and the
// benches need no network. README.md is its model card; build/pocket is the
// recipe that made it.
package pocket

import (
	"embed"
	"io/fs"
)

//go:embed README.md *.json *.jinja *.safetensors
var files embed.FS

// Files returns the model's folder as a read-only file system, in the layout
// of a Hugging Face checkpoint: config.json, tokenizer.json,
// tokenizer_config.json, chat_template.jinja, generation_config.json and
// model.safetensors (bfloat16), with the model card beside them. It is safe
// for concurrent use.
func Files() fs.FS { return files }
