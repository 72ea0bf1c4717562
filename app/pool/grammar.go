package pool

import (
	"context"
	"errors"
	"time"

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
			"The model %s names no token that ends a text, so its answers cannot follow a grammar; leave out the response format and do not force a tool call.",
			control.Word(id))
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
		return nil, refused(ctx, vocabulary, g, e)
	}
	if err != nil {
		return nil, notNow(err)
	}
	return matcher, nil
}

// blameTime bounds for how long the rules of tools are compiled again, to find which are at fault.
const blameTime = 2 * time.Second

// refused returns the error of a grammar that cannot be followed. It names the tool or the place in
// the client's own rules.
func refused(ctx context.Context, vocabulary *native.Vocabulary, g model.Grammar, e *native.GrammarError) error {
	const held = "No answer can be held to that form: "
	if tool, ok := g.Tools[e.Rule]; ok {
		return control.Errorf(control.CodeInvalid, held+"the schema or format of the tool %q: %s", tool, e.Message)
	}
	began := time.Now()
	for _, t := range g.Texts { // an error within such rules names no rule of ours
		if time.Since(began) > blameTime {
			break
		}
		m, err := vocabulary.Matcher(ctx, native.Grammar{Lark: t.Text})
		if err == nil {
			err = m.Close()
		}
		if own, ok := errors.AsType[*native.GrammarError](err); ok {
			if own.At != "" {
				own.Message = own.At + ": " + own.Message
			}
			refusal := control.Errorf(control.CodeInvalid, held+"the format of the tool %q: %s", t.Name, own.Message)
			refusal.Param = "tools"
			return refusal
		}
	}
	if e.At != "" && g.Around == "" && g.Tools == nil {
		return control.Errorf(control.CodeInvalid, held+"%s", e.At+": "+e.Message)
	}
	return control.Errorf(control.CodeInvalid, held+"%s", e.Message)
}
