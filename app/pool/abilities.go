package pool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/storage"
)

// knownAbilities remembers the abilities of models that were asked about, since a tokenizer takes a
// while to read.
type knownAbilities struct {
	mu sync.Mutex
	of map[string]ability // by the model's id
}

type ability struct {
	files string // see wordingFiles
	can   model.Abilities
}

// Abilities returns what a registered model can be asked for, in memory or not. It implements
// server.Pool.
func (p *Pool) Abilities(ctx context.Context, id string) (model.Abilities, error) {
	row, err := p.db.Model(ctx, id)
	if err != nil {
		return model.Abilities{}, NotRegistered(err, id)
	}
	files := wordingFiles(row)
	k := &p.abilities
	k.mu.Lock()
	known, ok := k.of[id]
	k.mu.Unlock()
	if ok && known.files == files {
		return known.can, nil
	}
	tokens, err := p.Tokenizer(ctx, id)
	if _, ok := errors.AsType[*models.Error](err); ok {
		return model.Abilities{}, InvalidModel(err)
	}
	if err != nil {
		return model.Abilities{}, err
	}
	load := func() (string, error) { return models.LoadChatTemplate(row.Path) }
	if row.Source == storage.SourcePocket {
		load = models.LoadPocketChatTemplate
	}
	source, err := load()
	if err != nil {
		p.log.Info("no chat for this model", "model", id, "reason", err)
	}
	var fim *model.FIM
	if f, ok := fimOf(tokens); ok {
		fim = &f
	}
	can := model.NewAbilities(dialectOf(source, tokens), fim)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string]ability{}
	}
	k.of[id] = ability{files, can}
	return can, nil
}

// wordingFiles returns the model's folder with the dates of the files that decide how the model
// writes. Another value means other files.
func wordingFiles(row storage.Model) string {
	files := row.Path
	if row.Source == storage.SourcePocket {
		return files
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
		if info, err := os.Stat(filepath.Join(row.Path, name)); err == nil {
			files += "\n" + name + " " + info.ModTime().String()
		}
	}
	return files
}

// dialectOf returns the dialect of a model with that chat template.
func dialectOf(template string, tokens *tokenizer.Tokenizer) *dialect.Dialect {
	return dialect.Detect(template, func(text string) (id int32, special, ok bool) {
		id, ok = tokens.ID(text)
		return id, ok && tokens.IsSpecial(id), ok
	})
}

// fims are the fill-in-the-middle tokens of the families that have them.
var fims = []model.FIM{
	{Prefix: "<|fim_prefix|>", Suffix: "<|fim_suffix|>", Middle: "<|fim_middle|>"},    // Qwen Coder, the pocket model
	{Prefix: "<fim_prefix>", Suffix: "<fim_suffix>", Middle: "<fim_middle>"},          // StarCoder, Granite
	{Prefix: "<｜fim▁begin｜>", Suffix: "<｜fim▁hole｜>", Middle: "<｜fim▁end｜>"},          // DeepSeek Coder
	{Prefix: "▁<PRE>", Suffix: "▁<SUF>", Middle: "▁<MID>"},                            // Code Llama
	{Prefix: "<|code_prefix|>", Suffix: "<|code_suffix|>", Middle: "<|code_middle|>"}, // GLM
}

// fimOf returns the fill-in-the-middle tokens of a tokenizer. ok is false if it has none.
func fimOf(tokens *tokenizer.Tokenizer) (model.FIM, bool) {
	for _, f := range fims {
		known := true
		for _, token := range []string{f.Prefix, f.Suffix, f.Middle} {
			_, ok := tokens.ID(token)
			known = known && ok
		}
		if known {
			return f, true
		}
	}
	return model.FIM{}, false
}
