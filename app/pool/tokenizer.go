package pool

import (
	"context"
	"encoding/json"
	"errors"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/storage"
)

// Tokenizer returns the tokenizer of a model, in memory or not.
func (p *Pool) Tokenizer(ctx context.Context, id string) (*tokenizer.Tokenizer, error) {
	if m := find(p.look().models, id); m != nil {
		return m.bundle.Tokenizer, nil
	}
	row, err := p.db.Models.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	files, err := p.filesOf(row)
	if err != nil {
		return nil, err
	}
	return files.Tokenizer()
}

// Abilities returns what a registered model can be asked for, in memory or not. It implements
// api.Pool.
func (p *Pool) Abilities(ctx context.Context, id string) (model.Abilities, error) {
	row, err := p.db.Models.Get(ctx, id)
	if err != nil {
		return model.Abilities{}, NotInstalled(err, id)
	}
	dates := row.Source // of the pocket model, whose files are part of the program
	if row.Source != storage.SourcePocket {
		dates = models.FileDates(row.Path)
	}
	return p.abilities.Get(id, dates, func() (model.Abilities, error) { return p.readAbilities(ctx, row) })
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

// dialectOf returns the dialect of a model with that chat template.
func dialectOf(template string, tokens *tokenizer.Tokenizer) *dialect.Dialect {
	return dialect.Detect(template, func(text string) (id int32, special, ok bool) {
		id, ok = tokens.ID(text)
		return id, ok && tokens.IsSpecial(id), ok
	})
}

// readTokenizer keeps what requests need from the tokenizer and the chat template.
func (m *Model) readTokenizer(ctx context.Context) {
	tokens := m.bundle.Tokenizer
	m.dialect = dialectOf(m.bundle.Chat.Source, tokens)
	for _, text := range m.dialect.Special() {
		if id, ok := tokens.ID(text); ok {
			m.special = append(m.special, id)
		}
	}
	m.chats = m.openChats(ctx)
}

// alwaysVars returns the variables that transformers passes to each template, as the beginning of a
// JSON object.
func alwaysVars(tokens *tokenizer.Tokenizer) []byte {
	always := struct {
		Tools     *struct{} `json:"tools"`
		Documents *struct{} `json:"documents"`
		BOSToken  string    `json:"bos_token"`
		EOSToken  string    `json:"eos_token"`
	}{}
	if id, ok := tokens.BOS(); ok {
		always.BOSToken = tokens.Token(id)
	}
	if id, ok := tokens.EOS(); ok {
		always.EOSToken = tokens.Token(id)
	}
	out, _ := json.Marshal(always) // two texts and two nulls never fail
	out[len(out)-1] = ','
	return out
}

// tokens implements model.Tokenizer.
type tokens struct{ tokenizer *tokenizer.Tokenizer }

func (t tokens) Encode(text string, addSpecial bool) ([]int32, error) {
	return t.encode(text, tokenizer.EncodeOptions{AddSpecial: addSpecial})
}

func (t tokens) EncodePlain(text string) ([]int32, error) {
	return t.encode(text, tokenizer.EncodeOptions{NoSpecial: true})
}

func (t tokens) encode(text string, o tokenizer.EncodeOptions) ([]int32, error) {
	ids, err := t.tokenizer.Encode(text, o)
	return ids, tooMuchText(err)
}

// tooMuchText returns CodeInvalid for a text that takes the tokenizer too long, else err.
func tooMuchText(err error) error {
	if _, ok := errors.AsType[*tokenizer.Error](err); ok {
		return &control.Error{Code: control.CodeInvalid, Message: err.Error(), Err: err}
	}
	return err
}

func (t tokens) Decode(ids []int32) string  { return t.tokenizer.Decode(ids, false) }
func (t tokens) TokenBytes(id int32) []byte { return t.tokenizer.TokenBytes(id) }
func (t tokens) LongestToken() int          { return t.tokenizer.LongestToken() }
func (t tokens) FIM() (model.FIM, bool)     { return model.FIMOf(t.tokenizer.ID) }
