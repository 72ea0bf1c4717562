package api

import (
	"encoding/json"
	"errors"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/app/wire"
)

// readResponseFormat returns the grammar that the answer must follow, or nil for any text.
func readResponseFormat(f *wire.Fields) *model.Grammar {
	o := f.Object("response_format")
	if o == nil {
		return nil
	}
	defer f.Take(o)
	return ReadFormat(o, readNamedSchema)
}

// ReadFormat reads the object of a format. schema reads one that is a JSON schema.
func ReadFormat(o *wire.Fields, schema func(*wire.Fields) *model.Grammar) *model.Grammar {
	switch t := o.String("type"); t {
	case "text":
	case "json_object":
		return &model.Grammar{JSON: dialect.Guided(json.RawMessage(`{"type":"object"}`), true)}
	case "json_schema":
		return schema(o)
	case "grammar":
		return readGrammar(o)
	default:
		o.Fail("type", "is one of %q, not %q.", o.Choices("type"), wire.Clip(t))
	}
	return nil
}

// readNamedSchema reads a schema in the form of chats, with a name.
func readNamedSchema(f *wire.Fields) *model.Grammar {
	o := wire.Needed(f, "json_schema")
	if o == nil {
		return nil
	}
	defer f.Take(o)
	return ReadSchema(o)
}

func ReadSchema(o *wire.Fields) *model.Grammar {
	if wire.Needed(o, "schema") == nil {
		return nil
	}
	return &model.Grammar{JSON: dialect.Guided(o.Raw("schema"), o.Bool("strict"))}
}

func readGrammar(f *wire.Fields) *model.Grammar {
	o := wire.Needed(f, "grammar")
	if o == nil {
		return nil
	}
	defer f.Take(o)
	text := o.String("definition")
	if o.Err == nil && text == "" {
		o.Fail("definition", "is missing.")
	}
	switch syntax := o.String("syntax"); syntax {
	case "lark":
		return &model.Grammar{Lark: text}
	case "regex":
		return &model.Grammar{Regex: text}
	default:
		o.Fail("syntax", "is one of %q, not %q.", o.Choices("syntax"), wire.Clip(syntax))
	}
	return nil
}

// badGrammar returns err as an error of the field param.
func badGrammar(err error, param string) error {
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = param
		return &named
	}
	return err
}

// closeMatchers frees the grammars of the choices.
func (a *API) closeMatchers(choices []*Choice) {
	for _, c := range choices {
		if c.matcher == nil {
			continue
		}
		if err := c.matcher.Close(); err != nil {
			a.Log.Error("cannot free a grammar", "error", err)
		}
	}
}
