package pool

import (
	"context"
	"errors"
	"math"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// Kind implements model.Reader.
func (m *Model) Kind() string { return string(m.bundle.Purpose.Kind) }

// Dimensions implements model.Reader.
func (m *Model) Dimensions() int { return m.bundle.Model.Config().HiddenSize }

// Embed returns a vector for each text. It implements model.Reader.
func (m *Model) Embed(ctx context.Context, r engine.Reading,
	dimensions int) ([][]float32, engine.Stats, error) {
	p := m.bundle.Purpose
	r.Pooling = p.Pooling
	rows, stats, err := m.engine.Read(ctx, r)
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
func (m *Model) RerankPrompt(instruction, query, document string) ([]int32, error) {
	if instruction == "" {
		instruction = models.RerankInstruction
	}
	ids, err := m.bundle.RerankPrompt(instruction, query, document)
	if _, ok := errors.AsType[*tokenizer.Error](err); ok { // the text is too much for it
		return nil, &control.Error{Code: control.CodeInvalid, Message: err.Error(), Err: err}
	}
	return ids, err
}

// Relevance returns a probability for each prompt. It implements model.Reader.
func (m *Model) Relevance(ctx context.Context, r engine.Reading) ([]float64, engine.Stats, error) {
	p := m.bundle.Purpose
	r.Logits = []int32{p.Yes, p.No}
	rows, stats, err := m.engine.Read(ctx, r)
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
