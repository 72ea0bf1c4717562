// Package retrieval holds a model that finds one code among lines of filler, and little else. The
// evaluations of recall use it, since recall rests on its full attention: with a sink and a window
// alone it finds nothing. README.md is its model card. build/retrieval is the recipe that made it.
package retrieval

import (
	"embed"
	"io/fs"
)

//go:embed README.md config.json generation_config.json model.safetensors
//go:embed tokenizer.json tokenizer_config.json chat_template.jinja
//go:embed drafter f_theta
var files embed.FS

// Files returns the model's folder as a read-only file system in the layout of a Hugging Face
// checkpoint: config.json (qwen3), tokenizer.json, tokenizer_config.json, chat_template.jinja,
// generation_config.json, model.safetensors (float32) and the model card. The folder drafter has its
// DFlash drafter, and f_theta what restores the model's keys and values from those of the drafter. It is
// safe for concurrent use.
func Files() fs.FS { return files }
