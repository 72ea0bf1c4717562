package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

type inner struct {
	Depth *int `json:"depth" min:"0" max:"31"`
}

type decoded struct {
	inner
	Name   string          `json:"name" need:"name a model"`
	Kind   string          `json:"kind,omitempty" either:"chat,code"`
	Rule   string          `json:"rule" oneof:"coupled,rejection"`
	Keep   bool            `json:"keep" need:"say true or false"`
	Port   int             `json:"port" min:"1" max:"65535"`
	Heat   *float64        `json:"heat" min:"0" max:"1"`
	Title  *string         `json:"title"`
	Leaf   *int64          `json:"leaf"`
	Facts  json.RawMessage `json:"facts"`
	Hidden int64
}

func TestDecodeReadsEachKindOfField(t *testing.T) {
	body := `{"name":"m","kind":"code","rule":"coupled","keep":false,"port":8263,"heat":0.5,"title":"",
		"leaf":7,"facts":{"a":1},"depth":31}`
	f, err := ParseFields([]byte(body), "")
	if err != nil {
		t.Fatal(err)
	}
	var d decoded
	if err := Decode(f, &d); err != nil {
		t.Fatal(err)
	}
	if d.Name != "m" {
		t.Errorf(`d.Name = %q, want "m"`, d.Name)
	}
	if d.Kind != "code" {
		t.Errorf(`d.Kind = %q, want "code"`, d.Kind)
	}
	if d.Rule != "coupled" {
		t.Errorf(`d.Rule = %q, want "coupled"`, d.Rule)
	}
	if d.Port != 8263 {
		t.Errorf("d.Port = %v, want 8263", d.Port)
	}
	if *d.Heat != 0.5 {
		t.Errorf("*d.Heat = %v, want 0.5", *d.Heat)
	}
	if *d.Title != "" {
		t.Errorf(`*d.Title = %q, want ""`, *d.Title)
	}
	if *d.Leaf != 7 {
		t.Errorf("*d.Leaf = %v, want 7", *d.Leaf)
	}
	if string(d.Facts) != `{"a":1}` {
		t.Errorf("string(d.Facts) = %q, want %q", string(d.Facts), `{"a":1}`)
	}
	if *d.Depth != 31 {
		t.Errorf("*d.Depth = %v, want 31", *d.Depth)
	}
	if d.Hidden != 0 {
		t.Errorf("d.Hidden = %v, want 0", d.Hidden)
	}
}

func TestDecodeNamesTheFieldThatIsWrong(t *testing.T) {
	for body, want := range map[string]string{
		`{"keep":true}`:                            "name is missing: name a model.",
		`{"name":"","keep":true}`:                  "name is missing: name a model.",
		`{"name":"m"}`:                             "keep is missing: say true or false.",
		`{"name":"m","keep":true,"Hidden":5}`:      "Hidden is no field here; this takes depth, name, kind, ",
		`{"name":"m","keep":true,"deep":null}`:     "deep is no field here; ",
		`{"name":7,"keep":true}`:                   "name must be a string.",
		`{"name":"m","keep":1}`:                    "keep must be true or false.",
		`{"name":"m","keep":true,"kind":"x"}`:      `kind must be "chat" or "code", not "x".`,
		`{"name":"m","keep":true,"rule":"x"}`:      `rule must be coupled or rejection, not "x".`,
		`{"name":"m","keep":true,"port":0}`:        "port must be between 1 and 65535, not 0.",
		`{"name":"m","keep":true,"heat":2}`:        "heat must be between 0 and 1, not 2.",
		`{"name":"m","keep":true,"depth":32}`:      "depth must be between 0 and 31, not 32.",
		`{"name":"m","keep":true,"leaf":-1}`:       "leaf must be an id, a whole number.",
		`{"name":"m","keep":true,"facts":[]}`:      "facts must be an object",
		`{"name":"m","keep":true,"title":{"a":1}}`: "title must be a string.",
	} {
		f, err := ParseFields([]byte(body), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := Decode(f, new(decoded)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

func TestWordThatMustBeThereMayNotBeMissing(t *testing.T) {
	f, err := ParseFields([]byte(`{}`), "")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Role string `json:"role" either:"user,assistant"`
	}
	if err := Decode(f, &d); err == nil ||
		err.Error() != `role must be "user" or "assistant", not "".` {
		t.Errorf("%v", err)
	}
}
