package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine/native"
	"tandem/models"
)

// A Vocabulary is the vocabulary of a model for grammars. It is made for the first grammar.
type Vocabulary struct {
	mu   sync.Mutex
	made *native.Vocabulary // nil before
}

// Matcher returns what holds one answer to a grammar; the caller closes it. id is the model's, for
// errors. Error: CodeInvalid for a grammar that no answer can follow.
func (v *Vocabulary) Matcher(ctx context.Context, bundle *models.Bundle, id string,
	g model.Grammar) (model.Matcher, error) {
	words, err := v.words(bundle, id)
	if err != nil {
		return nil, err
	}
	grammars := []native.Grammar{{JSON: g.JSON, Lark: g.Lark, Regex: g.Regex}}
	if g.Around != "" {
		grammars[0].Name = "answer"
		grammars = append([]native.Grammar{{Lark: g.Around}}, grammars...)
	}
	matcher, err := words.Matcher(ctx, grammars...)
	if err == nil {
		if err = matcher.Mask(make([]uint32, matcher.Words())); err != nil { // no text can begin
			err = errors.Join(err, matcher.Close())
		}
	}
	if e, ok := errors.AsType[*native.GrammarError](err); ok {
		return nil, refused(g, e)
	}
	if errors.Is(err, native.ErrBusy) {
		return nil, tooManyHeavy(err)
	}
	if err != nil {
		return nil, err
	}
	return matcher, nil
}

// refused returns the error of a grammar that cannot be followed. It names the tool or the place in
// the client's own rules.
func refused(g model.Grammar, e *native.GrammarError) error {
	const format = "No answer can be held to that form: %s"
	if tool, ok := g.Tools[e.Rule]; ok {
		return control.Errorf(control.CodeInvalid, format,
			fmt.Sprintf("the schema of the tool %q: %s", tool, e.Message))
	}
	if e.At != "" && g.Around == "" && g.Tools == nil {
		return control.Errorf(control.CodeInvalid, format, e.At+": "+e.Message)
	}
	return control.Errorf(control.CodeInvalid, format, e.Message)
}

// words returns the vocabulary, made if needed.
func (v *Vocabulary) words(bundle *models.Bundle, id string) (*native.Vocabulary, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made != nil {
		return v.made, nil
	}
	config, tokens := bundle.Model.Config(), bundle.Tokenizer
	if len(config.EOS) == 0 {
		return nil, control.Errorf(control.CodeInvalid,
			"The model %s names no token that ends a text, so that nothing can be held to a form; leave out response_format and tool_choice.", id)
	}
	made, err := native.NewVocabulary(config.VocabSize, func(id int32) ([]byte, bool) {
		return tokens.TokenBytes(id), tokens.IsSpecial(id)
	}, config.EOS, bundle.Lane)
	if err != nil {
		return nil, err
	}
	v.made = made
	return made, nil
}

// Close frees the vocabulary. Matchers stay valid.
func (v *Vocabulary) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made == nil {
		return nil
	}
	made := v.made
	v.made = nil
	return made.Close()
}
