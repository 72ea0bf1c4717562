package modeltest

import (
	"context"
	"time"

	"tandem/engine"
)

// Dimensions is the length of a Fake's vectors.
const Dimensions = 4

func (m *Fake) Kind() string { return m.Purpose }

func (m *Fake) Dimensions() int { return Dimensions }

// Embed makes a vector of a text's length, its first token, its last token, and 1/3.
func (m *Fake) Embed(ctx context.Context, r engine.EncodeRequest,
	dimensions int) ([][]float32, engine.Stats, error) {
	stats, err := m.read(ctx, r)
	if err != nil {
		return nil, stats, err
	}
	if dimensions == 0 {
		dimensions = Dimensions
	}
	var out [][]float32
	for _, t := range r.Sequences {
		out = append(out, []float32{float32(len(t)), float32(t[0]), float32(t[len(t)-1]),
			1.0 / 3}[:dimensions])
	}
	return out, stats, nil
}

func (m *Fake) RerankPrompt(instruction, query, document string) ([]int32, error) {
	return m.EncodePlain(instruction + "|" + query + "|" + document)
}

// Relevance gives the longest prompt the highest score.
func (m *Fake) Relevance(ctx context.Context, r engine.EncodeRequest) ([]float64, engine.Stats, error) {
	stats, err := m.read(ctx, r)
	if err != nil {
		return nil, stats, err
	}
	var out []float64
	for _, p := range r.Sequences {
		out = append(out, 1-1/float64(len(p)))
	}
	return out, stats, nil
}

// read keeps the promises of engine.Engine.Encode.
func (m *Fake) read(ctx context.Context, r engine.EncodeRequest) (stats engine.Stats, err error) {
	m.Mu.Lock()
	m.ReadTexts = append(m.ReadTexts, r.Sequences...)
	m.Mu.Unlock()
	for _, t := range r.Sequences {
		stats.PromptTokens += len(t)
	}
	r.Progress(stats.PromptTokens)
	if m.OnRead != nil {
		if err := m.OnRead(ctx); err != nil {
			return stats, err
		}
	}
	stats.Prefill, stats.Finish = 2*time.Millisecond, engine.FinishStop
	return stats, nil
}
