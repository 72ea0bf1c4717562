package api

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"tandem/app/control"
	"tandem/app/jsonschema"
	"tandem/app/model"
	"tandem/app/wire"
)

// ReadResponseFormat returns the grammar that the answer must follow, or nil for any text. key is
// the field that says so in the form of chats.
func ReadResponseFormat(f *wire.Fields, key string) *model.Grammar {
	o := f.Object(key)
	if o == nil {
		return nil
	}
	defer f.Take(o)
	return ReadFormat(o.As(ResponseFormatShape), readNamedSchema)
}

// ReadFormat reads the object of a format. schema reads one that is a JSON schema. An object may
// have a schema too, as in llama.cpp.
func ReadFormat(o *wire.Fields, schema func(*wire.Fields) *model.Grammar) *model.Grammar {
	switch t := o.String("type"); t {
	case "text":
	case "json_object":
		if s := o.Object("schema"); s != nil && len(s.Values) > 0 {
			return ReadSchema(o)
		}
		return AnyObject()
	case "json_schema":
		return schema(o)
	case "grammar":
		return readGrammar(o)
	default:
		o.Fail("type", "is one of %q, not %q.", o.Choices("type"), wire.Clip(t))
	}
	return nil
}

// readNamedSchema reads a schema in the form of chats, with a name. Some clients leave out the
// object around it.
func readNamedSchema(f *wire.Fields) *model.Grammar {
	if f.Raw("json_schema") == nil && f.Raw("schema") != nil {
		return ReadSchema(f)
	}
	o := wire.Needed(f, "json_schema")
	if o == nil {
		return nil
	}
	defer f.Take(o)
	return ReadSchema(o)
}

// ReadFlatSchema reads a schema in the form of responses. Some clients put the object of chats
// around it.
func ReadFlatSchema(o *wire.Fields) *model.Grammar {
	if o.Raw("schema") == nil && o.Raw("json_schema") != nil {
		return readNamedSchema(o)
	}
	return ReadSchema(o)
}

func ReadSchema(o *wire.Fields) *model.Grammar {
	if wire.Needed(o, "schema") == nil {
		return nil
	}
	return SchemaGrammar(o, "schema", o.Bool("strict"))
}

// AnyObject returns the grammar of any JSON object.
func AnyObject() *model.Grammar {
	form, err := jsonschema.Compile(json.RawMessage(`{"type":"object"}`),
		jsonschema.Options{Strict: true})
	if err != nil {
		panic(err) // the schema is ours
	}
	return &model.Grammar{JSON: form.JSON}
}

// SchemaGrammar returns the grammar of the JSON schema in a field. Without strict it leaves out
// what cannot be honoured. It fails f if no answer can be held to the schema.
func SchemaGrammar(f *wire.Fields, key string, strict bool) *model.Grammar {
	form, err := jsonschema.Compile(f.Raw(key), jsonschema.Options{Strict: strict})
	switch {
	case err != nil:
		f.Fail(key, "is a schema that no answer can be held to: %v.", err)
		return nil
	case form.JSON == nil:
		return &model.Grammar{Lark: form.Lark()}
	}
	return &model.Grammar{JSON: form.JSON}
}

// formFields are the fields in which a vendor asks for a form, and the objects with such a field.
var (
	formFields  = []string{"response_format", "format", "output_format"}
	formObjects = map[string]string{"text": "text.format", "output_config": "output_config.format"}
)

// RefuseForms refuses a form that stands in another vendor's field: without it the answer would
// have any form. read are the fields of this route, of which the first is named in the error.
func RefuseForms(f *wire.Fields, read ...string) {
	refuse := func(name string, v json.RawMessage) {
		if asksForm(v) && !slices.Contains(read, name) {
			f.Fail(name, "is not read here; send it as %s.", read[0])
		}
	}
	for _, key := range formFields {
		refuse(key, f.Values[key])
	}
	for _, key := range slices.Sorted(maps.Keys(formObjects)) {
		var o struct{ Format json.RawMessage }
		if v := f.Values[key]; v != nil && json.Unmarshal(v, &o) == nil {
			refuse(formObjects[key], o.Format)
		}
	}
}

// asksForm reports whether a format is more than text.
func asksForm(v json.RawMessage) bool {
	var o struct{ Type any }
	if len(v) == 0 || v[0] != '{' {
		return string(v) == `"json"`
	}
	return json.Unmarshal(v, &o) == nil && o.Type != "text"
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
		rules, err := jsonschema.Lark(text)
		if err != nil {
			o.Fail("definition", "has a schema that no answer can be held to: %v.", err)
		}
		return &model.Grammar{Lark: rules}
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
