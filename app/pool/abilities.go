package pool

import (
	"cmp"
	"context"
	"errors"

	"tandem/app/model"
	"tandem/models"
	"tandem/storage"
)

// Abilities returns what a registered model can be asked for, in memory or not. It implements
// api.Pool.
func (p *Pool) Abilities(ctx context.Context, id string) (model.Abilities, error) {
	row, err := p.db.Models.Get(ctx, id)
	if err != nil {
		return model.Abilities{}, NotRegistered(err, id)
	}
	return p.abilities.Get(id, cmp.Or(models.FileDates(row.Path), row.Source), func() (model.Abilities, error) {
		return p.readAbilities(ctx, row)
	})
}

// readAbilities reads the tokenizer and the chat template of a model.
func (p *Pool) readAbilities(ctx context.Context, row storage.Model) (model.Abilities, error) {
	tokens, err := p.Tokenizer(ctx, row.ID)
	if _, ok := errors.AsType[*models.Error](err); ok {
		return model.Abilities{}, InvalidModel(err)
	}
	if err != nil {
		return model.Abilities{}, err
	}
	files, err := p.filesOf(row)
	if err != nil {
		return model.Abilities{}, InvalidModel(err)
	}
	source, err := files.ChatTemplate()
	if err != nil {
		p.log.Info("no chat for this model", "model", row.ID, "reason", err)
	}
	var fim *model.FIM
	if f, ok := model.FIMOf(tokens.ID); ok {
		fim = &f
	}
	return model.NewAbilities(dialectOf(source, tokens), fim), nil
}
