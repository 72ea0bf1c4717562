package pool

import (
	"context"
	"errors"
	"fmt"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine/native"
	"tandem/models"
)

// Matcher returns what holds one answer of a model to a grammar; the caller closes it. id is the model's,
// for errors. Error: CodeInvalid for a grammar that no answer can follow.
func Matcher(ctx context.Context, bundle *models.Bundle, id string, g model.Grammar) (model.Matcher, error) {
	if len(bundle.Model.Config().EOS) == 0 {
		return nil, control.Errorf(control.CodeInvalid,
			"The model %s names no token that ends a text, so its answers cannot follow a grammar; leave out the response format and do not force a tool call.", id)
	}
	vocabulary, err := bundle.Vocabulary()
	if err != nil {
		return nil, err
	}
	grammars := []native.Grammar{{JSON: g.JSON, Lark: g.Lark, Regex: g.Regex}}
	if g.Around != "" {
		grammars[0].Name = "answer"
		grammars = append([]native.Grammar{{Lark: g.Around}}, grammars...)
	}
	matcher, err := vocabulary.Matcher(ctx, grammars...)
	if err == nil {
		if err = matcher.Mask(make([]uint32, matcher.Words())); err != nil { // no text can begin
			err = errors.Join(err, matcher.Close())
		}
	}
	if e, ok := errors.AsType[*native.GrammarError](err); ok {
		return nil, refused(g, e)
	}
	if err != nil {
		return nil, notNow(err)
	}
	return matcher, nil
}

// refused returns the error of a grammar that cannot be followed. It names the tool or the place in
// the client's own rules.
func refused(g model.Grammar, e *native.GrammarError) error {
	const format = "No answer can be held to that form: %s"
	if tool, ok := g.Tools[e.Rule]; ok {
		return control.Errorf(control.CodeInvalid, format,
			fmt.Sprintf("the schema or format of the tool %q: %s", tool, e.Message))
	}
	if e.At != "" && g.Around == "" && g.Tools == nil {
		return control.Errorf(control.CodeInvalid, format, e.At+": "+e.Message)
	}
	return control.Errorf(control.CodeInvalid, format, e.Message)
}
