package pool

import (
	"context"
	"iter"
	"math"

	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
	"tandem/models"
)

var _ model.Model = (*Model)(nil)

func (m *Model) ID() string         { return m.row.ID }
func (m *Model) Key() string        { return m.key }
func (m *Model) ContextLength() int { return m.engine.ContextLength() }

// LongerContext reports whether the user could set a context of so many tokens in place of a
// shorter one. It implements model.Model.
func (m *Model) LongerContext(tokens int) bool {
	own := m.modelSettings()
	if own.Context == nil || *own.Context > m.ContextLength() {
		return false
	}
	size, err := m.pool.measure(m.row, m.drafter.Source(), m.pool.formatSetting(own))
	return err == nil && tokens <= m.pool.longestContext(size.size(0))
}

func (m *Model) VocabSize() int { return m.bundle.Model.Config().VocabSize }

func (m *Model) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	r.Speculation = m.speculate(r.Speculation)
	return m.remember(ctx, r)
}

// Tokenizer implements model.Model.
func (m *Model) Tokenizer() model.Tokenizer { return tokens{m.bundle.Tokenizer} }

// Reader implements model.Model.
func (m *Model) Reader() model.Reader { return reader{m.bundle, m.engine} }

// Dialect implements model.Model.
func (m *Model) Dialect() *dialect.Dialect { return m.dialect }

// Chat implements model.Model.
func (m *Model) Chat(tools bool) model.Chat { return m.chats.of(tools) }

// Special implements model.Model.
func (m *Model) Special() []int32 { return m.special }

// Matcher implements model.Model.
func (m *Model) Matcher(ctx context.Context, g model.Grammar) (model.Matcher, error) {
	return Matcher(ctx, m.bundle, m.row.ID, g)
}

// remember has the engine use and extend the author's memory of texts, if the author is known. It is
// opened when the generation begins, and closed when it has ended.
func (m *Model) remember(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	by, known := model.AuthorOf(ctx)
	if !known || m.pool.opts.NoCheckpoints || r.Fresh {
		return m.generate(ctx, r)
	}
	return func(yield func(engine.Token, error) bool) {
		if r.Texts = m.pool.Texts.Open(ctx, by, m.row.ID, m.bundle.Tokenizer); r.Texts != nil {
			defer r.Texts.Close()
		}
		for t, err := range m.generate(ctx, r) {
			if !yield(t, err) {
				return
			}
		}
	}
}

func (m *Model) generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	if g := m.pool.opts.Generate; g != nil {
		return g(ctx, m, m.bundle.Model.Config().EOS, m.engine, r)
	}
	return m.engine.Generate(ctx, r)
}

// A reader implements model.Reader.
type reader struct {
	bundle *models.Bundle
	engine *engine.Engine
}

// Kind implements model.Reader.
func (r reader) Kind() string { return string(r.bundle.Purpose.Kind) }

// Dimensions implements model.Reader.
func (r reader) Dimensions() int { return r.bundle.Model.Config().HiddenSize }

// Embed returns a vector for each text. It implements model.Reader.
func (r reader) Embed(ctx context.Context, in engine.EncodeRequest,
	dimensions int) ([][]float32, engine.Stats, error) {
	p := r.bundle.Purpose
	in.Pooling = p.Pooling
	rows, stats, err := r.engine.Encode(ctx, in)
	if err != nil {
		return nil, stats, err
	}
	for i, row := range rows {
		if dimensions > 0 {
			row = row[:dimensions]
		}
		if p.Normalize {
			normalize(row)
		}
		rows[i] = row
	}
	return rows, stats, nil
}

// normalize scales a vector to length one, unless it is zero. This is the last step of
// sentence-transformers' Normalize, with its lower bound.
func normalize(row []float32) {
	sum := 0.0
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	length := max(math.Sqrt(sum), 1e-12)
	for i, x := range row {
		row[i] = float32(float64(x) / length)
	}
}

// RerankPrompt implements model.Reader.
func (r reader) RerankPrompt(instruction, query, document string) ([]int32, error) {
	if instruction == "" {
		instruction = models.RerankInstruction
	}
	ids, err := r.bundle.RerankPrompt(instruction, query, document)
	return ids, tooMuchText(err)
}

// Relevance returns a probability for each prompt. It implements model.Reader.
func (r reader) Relevance(ctx context.Context, in engine.EncodeRequest) ([]float64, engine.Stats, error) {
	p := r.bundle.Purpose
	in.Logits = []int32{p.Yes, p.No}
	rows, stats, err := r.engine.Encode(ctx, in)
	if err != nil {
		return nil, stats, err
	}
	scores := make([]float64, len(rows))
	for i, row := range rows {
		// the softmax of both, its yes
		scores[i] = 1 / (1 + math.Exp(float64(row[1])-float64(row[0])))
	}
	return scores, stats, nil
}
