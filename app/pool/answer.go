package pool

import (
	"context"
	"iter"

	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
)

var _ model.Model = (*Model)(nil)

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

// Tokenizer implements model.Model.
func (m *Model) Tokenizer() model.Tokenizer { return tokens{m.bundle.Tokenizer, m.longest} }

// Reader implements model.Model.
func (m *Model) Reader() model.Reader { return reader{m.bundle, m.engine} }

// Dialect implements model.Model.
func (m *Model) Dialect() *dialect.Dialect { return m.dialect }

// Chat implements model.Model.
func (m *Model) Chat(tools bool) model.Chat { return m.chats.of(tools) }

// Special implements model.Model.
func (m *Model) Special() []int32 { return m.special }
