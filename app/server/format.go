package server

import (
	"encoding/json"
	"errors"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
)

// formatTypes are what response_format can ask for. The last is ours, in the
// form that OpenAI gives grammars of custom tools.
var formatTypes = []string{"text", "json_object", "json_schema", "grammar"}

// readResponseFormat returns what the answer may be, nil for any text.
func readResponseFormat(f *fields) *model.Grammar {
	o := f.object("response_format")
	if o == nil {
		return nil
	}
	defer f.take(o)
	return readFormat(o, readNamedSchema)
}

// readFormat reads what a format says; schema reads one by a JSON schema.
func readFormat(o *fields, schema func(*fields) *model.Grammar) *model.Grammar {
	switch t := o.string("type"); t {
	case "text":
	case "json_object":
		return &model.Grammar{JSON: dialect.Guided(json.RawMessage(`{"type":"object"}`), true)}
	case "json_schema":
		return schema(o)
	case "grammar":
		return readGrammar(o)
	default:
		o.fail("type", "is one of %q, not %q.", formatTypes, clip(t))
	}
	return nil
}

// readNamedSchema reads a schema where chats have it, below a name.
func readNamedSchema(f *fields) *model.Grammar {
	o := needed(f, "json_schema")
	if o == nil {
		return nil
	}
	defer f.take(o)
	return readSchema(o)
}

func readSchema(o *fields) *model.Grammar {
	if needed(o, "schema") == nil {
		return nil
	}
	return &model.Grammar{JSON: dialect.Guided(o.raw("schema"), o.bool("strict"))}
}

func readGrammar(f *fields) *model.Grammar {
	o := needed(f, "grammar")
	if o == nil {
		return nil
	}
	defer f.take(o)
	text := o.string("definition")
	if o.err == nil && text == "" {
		o.fail("definition", "is missing.")
	}
	switch syntax := o.string("syntax"); syntax {
	case "lark":
		return &model.Grammar{Lark: text}
	case "regex":
		return &model.Grammar{Regex: text}
	default:
		o.fail("syntax", "is one of %q, not %q.", []string{"lark", "regex"}, clip(syntax))
	}
	return nil
}

// badGrammar names the field.
func badGrammar(err error, param string) error {
	if e, ok := errors.AsType[*control.Error](err); ok && e.Param == "" {
		named := *e
		named.Param = param
		return &named
	}
	return err
}

// closeMatchers frees the grammars of the choices.
func (a *API) closeMatchers(choices []*choice) {
	for _, c := range choices {
		if c.matcher == nil {
			continue
		}
		if err := c.matcher.Close(); err != nil {
			a.log.Error("letting go of a grammar", "error", err)
		}
	}
}
