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
	o := FormatObject(f, key, PlainFormats)
	if o == nil {
		return nil
	}
	return ReadFormat(o.As(ResponseFormatShape), readNamedSchema)
}

// PlainFormats are formats of OpenAI's that need no more than their type.
const PlainFormats control.Word = `{"type": "text"} or {"type": "json_object"}`

// FormatObject reads the object of a format. It returns nil for an absent field. An error names such ones.
func FormatObject(f *wire.Fields, key string, such control.Word) *wire.Fields {
	if v := f.Raw(key); v != nil && v[0] != '{' {
		f.Fail(key, "must be an object that names its type, such as %s.", such)
	}
	return f.Object(key)
}

// ReadFormat reads the object of a format. schema reads one that is a JSON schema. An object may
// have a schema too, as in llama.cpp.
func ReadFormat(o *wire.Fields, schema func(*wire.Fields) *model.Grammar) *model.Grammar {
	switch o.NeededWord("type") {
	case "json_object":
		return readObjectSchema(o)
	case "json_schema":
		return schema(o)
	case "grammar":
		return readGrammar(o)
	}
	return nil
}

// readObjectSchema returns the grammar of a JSON object, by the schema of o if it has one. Some
// clients put the object of chats around the schema.
func readObjectSchema(o *wire.Fields) *model.Grammar {
	s := o.Object("schema")
	if s == nil || len(s.Values) == 0 {
		if named := o.Object("json_schema"); named != nil && len(named.Values) > 0 {
			o, s = named, wire.Needed(named, "schema")
		}
	}
	if s == nil || len(s.Values) == 0 {
		return AnyObject()
	}
	if !admitsObject(s.Raw("type")) {
		o.Fail("schema", "is not the schema of an object; let its type be \"object\", or send "+
			"it as json_schema.")
		return nil
	}
	return compiled(o, "schema", jsonschema.Options{Strict: o.Bool("strict"), Object: true})
}

// admitsObject reports whether a schema's type admits an object. One without a type does.
func admitsObject(kind json.RawMessage) bool {
	var one string
	var list []string
	return kind == nil || json.Unmarshal(kind, &one) == nil && one == "object" ||
		json.Unmarshal(kind, &list) == nil && slices.Contains(list, "object")
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
	return compiled(f, key, jsonschema.Options{Strict: strict})
}

// compiled returns the grammar of the JSON schema in a field.
func compiled(f *wire.Fields, key string, o jsonschema.Options) *model.Grammar {
	form, err := jsonschema.Compile(f.Raw(key), o)
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

// engineForms are the fields in which engines ask for a form, and the type of format for each.
var engineForms = map[string]string{
	"guided_json": "json_schema", "guided_regex": "grammar", "guided_grammar": "grammar", // vLLM
	"guided_choice": "json_schema", "structured_outputs": "json_schema",
	"json_schema": "json_schema", "grammar": "grammar", // llama.cpp
	"regex": "grammar", "ebnf": "grammar", // SGLang
}

// RefuseForms refuses an output format in another vendor's field instead of ignoring it. read are the
// fields of this route: errors name the first, or for an engine's field the last, which reads every
// type of format.
func RefuseForms(f *wire.Fields, read ...string) {
	refuse := func(name string, v json.RawMessage) {
		if asksForm(v) && !slices.Contains(read, name) {
			f.Fail(name, "is not read here; send it as %s.", control.Word(read[0]))
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
	for _, key := range slices.Sorted(maps.Keys(engineForms)) {
		if !wire.SaysNothing(f.Values[key]) {
			f.Fail(key, "is not read here; send it as %s of the type %q.", control.Word(read[len(read)-1]),
				control.Word(engineForms[key]))
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
	text := wire.NeededString(o, "definition")
	switch o.NeededWord("syntax") {
	case "lark":
		rules, err := jsonschema.Lark(text)
		if err != nil {
			o.Fail("definition", "has a schema that no answer can be held to: %v.", err)
		}
		return &model.Grammar{Lark: rules}
	case "regex":
		return &model.Grammar{Regex: text}
	}
	return nil
}

// NameParam returns err as an error of a field, if it is for a client and names none.
func NameParam(err error, param string) error {
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
