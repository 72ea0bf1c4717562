package app

import (
	"context"
	"errors"
	"sync"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine/native"
)

// A vocabulary is that of a model, made when the first grammar is asked for.
type vocabulary struct {
	mu   sync.Mutex
	made *native.Vocabulary // nil before
}

// Matcher implements model.Model.
func (m *loaded) Matcher(ctx context.Context, g model.Grammar) (model.Matcher, error) {
	v, err := m.words()
	if err != nil {
		return nil, err
	}
	grammars := []native.Grammar{{JSON: g.JSON, Lark: g.Lark, Regex: g.Regex}}
	if g.Around != "" {
		grammars[0].Name = "answer"
		grammars = append([]native.Grammar{{Lark: g.Around}}, grammars...)
	}
	matcher, err := v.Matcher(ctx, grammars...)
	if err == nil {
		if err = matcher.Mask(make([]uint32, matcher.Words())); err != nil { // nothing can even begin
			err = errors.Join(err, matcher.Close())
		}
	}
	if e, ok := errors.AsType[*native.GrammarError](err); ok {
		return nil, control.Errorf(control.CodeInvalid, "No answer can be held to that form: %s", e.Message)
	}
	if err != nil {
		return nil, err
	}
	return matcher, nil
}

// words returns the model's vocabulary.
func (m *loaded) words() (*native.Vocabulary, error) {
	m.vocabulary.mu.Lock()
	defer m.vocabulary.mu.Unlock()
	if m.vocabulary.made != nil {
		return m.vocabulary.made, nil
	}
	config, tokens := m.bundle.Model.Config(), m.bundle.Tokenizer
	if len(config.EOS) == 0 {
		return nil, control.Errorf(control.CodeInvalid, "The model %s names no token that ends a text, so that nothing can be held to a form; leave out response_format and tool_choice.", m.row.ID)
	}
	v, err := native.NewVocabulary(config.VocabSize, func(id int32) ([]byte, bool) {
		return tokens.TokenBytes(id), tokens.IsSpecial(id)
	}, config.EOS)
	if err != nil {
		return nil, err
	}
	m.vocabulary.made = v
	return v, nil
}

// close frees the vocabulary; matchers stay.
func (v *vocabulary) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made == nil {
		return nil
	}
	made := v.made
	v.made = nil
	return made.Close()
}
