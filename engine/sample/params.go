package sample

import (
	"fmt"
	"math"
)

// Params are the sampling parameters of one request. The zero value is greedy decoding. They apply
// in this order: penalties, logit bias, temperature, top-k, top-p, min-p.
type Params struct {
	Temperature float64 // 0 = greedy
	TopK        int     // 0 = off
	TopP        float64 // 0 or 1 = off
	MinP        float64 // 0 = off

	RepetitionPenalty float64 // 0 or 1 = off; counts prompt and output
	PresencePenalty   float64 // once per distinct output token
	FrequencyPenalty  float64 // once per output token

	LogitBias map[int32]float32 // added to the logits
}

// Check refuses invalid values. Its error names the field as the OpenAI API spells it.
func (p Params) Check(vocab int) error {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	switch {
	case !finite(p.Temperature) || p.Temperature < 0:
		return fmt.Errorf("temperature must be a number of at least 0, not %v", p.Temperature)
	case p.TopK < 0:
		return fmt.Errorf("top_k must be at least 0, not %d", p.TopK)
	case !finite(p.TopP) || p.TopP < 0 || p.TopP > 1:
		return fmt.Errorf("top_p must be between 0 and 1, not %v", p.TopP)
	case !finite(p.MinP) || p.MinP < 0 || p.MinP > 1:
		return fmt.Errorf("min_p must be between 0 and 1, not %v", p.MinP)
	case p.RepetitionPenalty != 0 && !(p.RepetitionPenalty >= 0.01 && p.RepetitionPenalty <= 100):
		return fmt.Errorf("repetition_penalty must be between 0.01 and 100, not %v",
			p.RepetitionPenalty)
	case !finite(p.PresencePenalty):
		return fmt.Errorf("presence_penalty must be a finite number")
	case !finite(p.FrequencyPenalty):
		return fmt.Errorf("frequency_penalty must be a finite number")
	}
	for id, b := range p.LogitBias {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("logit_bias names token %d; the vocabulary has %d", id, vocab)
		}
		if !finite(float64(b)) {
			return fmt.Errorf("logit_bias of token %d must be a finite number", id)
		}
	}
	return nil
}

// Numbers beyond these limits act as the limit: the distribution changes no more, and float32 would
// overflow.
const (
	maxTemperature = 1e6
	maxAddend      = 1e4 // of penalties and biases, of either sign
)

// bounded returns the parameters within their limits.
func (p Params) bounded() Params {
	p.Temperature = min(p.Temperature, maxTemperature)
	p.PresencePenalty = min(max(p.PresencePenalty, -maxAddend), maxAddend)
	p.FrequencyPenalty = min(max(p.FrequencyPenalty, -maxAddend), maxAddend)
	return p
}

// minTemperature is where sampling becomes greedy. Below it the likeliest token wins anyway, and
// logits divided by it overflow float32.
const minTemperature = 1e-6

// Greedy reports whether the likeliest token is always taken.
func (p Params) Greedy() bool { return p.Temperature < minTemperature }

// penalised reports whether earlier tokens change the distribution.
func (p Params) penalised() bool {
	return p.RepetitionPenalty != 0 && p.RepetitionPenalty != 1 ||
		p.PresencePenalty != 0 || p.FrequencyPenalty != 0
}
