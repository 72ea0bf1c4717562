package api

import (
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// A TokenLogprob is a token with its log-probability.
type TokenLogprob struct {
	_       struct{}     `schema:"TokenLogprob"`
	Token   string       `json:"token"`
	Logprob wire.Logprob `json:"logprob"`
	Bytes   wire.Bytes   `json:"bytes"`
}

// A ScoredToken is a token of an answer with its log-probability, and those of other tokens in its
// place.
type ScoredToken struct {
	TokenLogprob
	Top []TokenLogprob `json:"top_logprobs"`
}

// ScoredTokens returns the tokens that have log-probabilities.
func ScoredTokens(tk model.Tokenizer, toks []engine.Token) []ScoredToken {
	list := []ScoredToken{}
	for _, t := range toks {
		if t.Logprobs == nil {
			continue
		}
		s := ScoredToken{newTokenLogprob(tk, t.ID, t.Logprobs.Logprob), []TokenLogprob{}}
		for _, top := range t.Logprobs.Top {
			s.Top = append(s.Top, newTokenLogprob(tk, top.ID, top.Logprob))
		}
		list = append(list, s)
	}
	return list
}

func newTokenLogprob(tk model.Tokenizer, id int32, logprob float32) TokenLogprob {
	b := tk.TokenBytes(id)
	// Each byte that is no rune becomes one U+FFFD.
	return TokenLogprob{Token: string([]rune(string(b))), Logprob: wire.Logprob(logprob), Bytes: b}
}
