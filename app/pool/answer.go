package pool

import (
	"context"
	"errors"
	"iter"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/tokenizer"
)

var (
	_ model.Model     = (*Model)(nil)
	_ model.Tokenizer = (*Model)(nil)
	_ model.Reader    = (*Model)(nil)
)

func (m *Model) ID() string         { return m.row.ID }
func (m *Model) Key() string        { return m.key }
func (m *Model) ContextLength() int { return m.engine.ContextLength() }

// LongerContext reports whether the user could set a context of so many tokens in place of a
// shorter one. It implements model.Model.
func (m *Model) LongerContext(tokens int) bool {
	set, has := m.ownSettings().Context, m.ContextLength()
	most := m.row.ContextLength
	if asked := m.pool.opts.ContextLength; asked > 0 {
		most = min(most, asked)
	}
	if set == nil || *set > has || tokens > most {
		return false
	}
	drafter := ""
	if m.drafter != nil {
		drafter = m.drafter.Source()
	}
	size, err := m.pool.measure(m.row, drafter, m.pool.formSetting(m.ownSettings()))
	if err != nil {
		return false
	}
	weights, text := size.Bytes(tokens)
	return weights+text <= m.pool.Room()
}

func (m *Model) VocabSize() int { return m.bundle.Model.Config().VocabSize }

func (m *Model) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	r.Speculation = m.speculate(r.Speculation)
	return m.remember(ctx, r)
}

func (m *Model) Encode(text string, addSpecial bool) ([]int32, error) {
	return m.encode(text, tokenizer.EncodeOptions{AddSpecial: addSpecial})
}

func (m *Model) EncodePlain(text string) ([]int32, error) {
	return m.encode(text, tokenizer.EncodeOptions{NoSpecial: true})
}

func (m *Model) encode(text string, o tokenizer.EncodeOptions) ([]int32, error) {
	ids, err := m.bundle.Tokenizer.Encode(text, o)
	if _, ok := errors.AsType[*tokenizer.Error](err); ok { // the text is too much for it
		return nil, &control.Error{Code: control.CodeInvalid, Message: err.Error(), Err: err}
	}
	return ids, err
}

func (m *Model) Decode(ids []int32) string { return m.bundle.Tokenizer.Decode(ids, false) }

func (m *Model) LongestToken() int { return m.longest }

// Tokenizer implements model.Model.
func (m *Model) Tokenizer() model.Tokenizer { return m }

// Reader implements model.Model.
func (m *Model) Reader() model.Reader { return m }

// Dialect implements model.Model.
func (m *Model) Dialect() *dialect.Dialect { return m.dialect }

// Chat implements model.Model.
func (m *Model) Chat(tools bool) model.Chat { return m.chats.of(tools) }

// Special implements model.Model.
func (m *Model) Special() []int32 { return m.special }

func (m *Model) TokenBytes(id int32) []byte { return m.bundle.Tokenizer.TokenBytes(id) }

func (m *Model) FIM() (model.FIM, bool) { return fimOf(m.bundle.Tokenizer) }
