package pool

import (
	"context"
	"math"

	"tandem/engine"
	"tandem/models"
)

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
func (r reader) Embed(ctx context.Context, in engine.Reading,
	dimensions int) ([][]float32, engine.Stats, error) {
	p := r.bundle.Purpose
	in.Pooling = p.Pooling
	rows, stats, err := r.engine.Read(ctx, in)
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
func (r reader) Relevance(ctx context.Context, in engine.Reading) ([]float64, engine.Stats, error) {
	p := r.bundle.Purpose
	in.Logits = []int32{p.Yes, p.No}
	rows, stats, err := r.engine.Read(ctx, in)
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
