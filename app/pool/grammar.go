package pool

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
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
	matcher, err := compile(ctx, vocabulary, grammars...)
	e, ok := errors.AsType[*native.GrammarError](err)
	switch {
	case ok:
		return nil, refused(g, e)
	case err != nil:
		return nil, notNow(err)
	}
	return matcher, nil
}

// compile returns a matcher of grammars, or an error if no token may come first.
func compile(ctx context.Context, v *native.Vocabulary, grammars ...native.Grammar) (*native.Matcher, error) {
	matcher, err := v.Matcher(ctx, grammars...)
	if err != nil {
		return nil, err
	}
	if err := matcher.Mask(make([]uint32, matcher.Words())); err != nil {
		return nil, errors.Join(err, matcher.Close())
	}
	return matcher, nil
}

// refused returns the error of a grammar that cannot be followed. It names the tool or the place in
// the client's own rules.
func refused(g model.Grammar, e *native.GrammarError) error {
	const held = "No answer can be held to that form: "
	if tool, ok := g.Tools[e.Rule]; ok {
		return control.Errorf(control.CodeInvalid, held+"the schema or format of the tool %q: %s", tool, e.Message)
	}
	if e.At != "" && g.Around == "" && g.Tools == nil {
		return control.Errorf(control.CodeInvalid, held+"%s", e.At+": "+e.Message)
	}
	return control.Errorf(control.CodeInvalid, held+"%s", e.Message)
}

// CheckTexts implements model.Model. Each tool's rules are compiled alone: an error within the grammar of a
// whole answer names no rule of the client.
func (m *Model) CheckTexts(ctx context.Context, tools []dialect.Tool) error {
	began := time.Now()
	for _, t := range tools {
		if t.Text == "" || m.texts.has(t.Text) {
			continue
		}
		if len(m.bundle.Model.Config().EOS) == 0 || time.Since(began) > checkTime {
			break
		}
		rules, err := t.TextRules()
		if err != nil {
			return refusedText(t, err.Error())
		}
		vocabulary, err := m.bundle.Vocabulary()
		if err != nil {
			return err
		}
		matcher, err := compile(ctx, vocabulary, native.Grammar{Lark: rules})
		e, ok := errors.AsType[*native.GrammarError](err)
		switch {
		case ok && e.At != "":
			return refusedText(t, e.At+": "+e.Message)
		case ok:
			return refusedText(t, e.Message)
		case err != nil:
			return notNow(err)
		}
		if err := matcher.Close(); err != nil {
			return err
		}
		m.texts.add(t.Text)
	}
	return nil
}

// checkTime bounds for how long the rules of a request's tools are compiled before the model is asked.
const checkTime = 2 * time.Second

// refusedText returns the error of a tool's rules.
func refusedText(t dialect.Tool, fault string) error {
	err := control.Errorf(control.CodeInvalid, "No text can be held to %s, the format of the tool %q: %s",
		control.Word(t.TextParam), t.Name, fault)
	err.Param = t.TextParam
	return err
}

// checkedTexts are rules that can be followed. An agent sends the same ones with each request.
type checkedTexts struct {
	mu   sync.Mutex
	sums map[[sha256.Size]byte]struct{}
}

// maxChecked bounds checkedTexts, to 32 bytes each.
const maxChecked = 1 << 10

func (c *checkedTexts) has(rules string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.sums[sha256.Sum256([]byte(rules))]
	return ok
}

func (c *checkedTexts) add(rules string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sums == nil || len(c.sums) >= maxChecked {
		c.sums = map[[sha256.Size]byte]struct{}{}
	}
	c.sums[sha256.Sum256([]byte(rules))] = struct{}{}
}
