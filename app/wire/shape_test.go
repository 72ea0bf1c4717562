package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

var drink = AllOf(
	Object(Required("size", Int(1, 3), "Cups."), Optional("heat", NumberBetween(0, 100))),
	Object(
		Optional("milk", Either(EnumOrEmpty("oat", "cow"), Object(Required("fat", NumberBetween(0, 9))))),
		OmitOnly("extras", List(Object(Required("grams", Int(0, 50)))).Max(2)),
	),
).Named("Drink")

func TestReadersTakeBoundsAndWordsFromTheShape(t *testing.T) {
	for body, want := range map[string]string{
		`{"size":2,"heat":99.5,"milk":"oat","extras":[{"grams":5}]}`: "",
		`{"milk":{"fat":1}}`:        "",
		`{"size":4}`:                "size must be between 1 and 3, not 4.",
		`{"heat":-1}`:               "heat must be between 0 and 100, not -1.",
		`{"milk":"soy"}`:            `milk must be oat or cow, not "soy".`,
		`{"milk":{"fat":10}}`:       "milk.fat must be between 0 and 9, not 10.",
		`{"extras":[{"grams":51}]}`: "extras[0].grams must be between 0 and 50, not 51.",
	} {
		f, err := ParseFields([]byte(body), "")
		if err != nil {
			t.Fatal(err)
		}
		f.As(drink)
		f.Whole("size")
		f.Real("heat")
		if v := f.Raw("milk"); v != nil && v[0] == '{' {
			f.Object("milk").Real("fat")
		} else {
			f.Word("milk")
		}
		var extras []json.RawMessage
		if v := f.Raw("extras"); v != nil && json.Unmarshal(v, &extras) != nil {
			t.Fatal(body)
		}
		for i, v := range extras {
			f.Item("extras", i, v).Whole("grams")
		}
		got := ""
		if f.Err() != nil {
			got = f.Err().Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestReadingANameThatTheShapeLacksPanics(t *testing.T) {
	f, err := ParseFields([]byte(`{}`), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("sugar was read")
		}
	}()
	f.As(drink).Bool("sugar")
}

func TestSchemaHasTypesBoundsAndWhatMayBeLeftOut(t *testing.T) {
	all := Schemas{}
	ref, err := json.Marshal(all.Of(List(drink)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(all["Drink"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"allOf":[{"properties":{"heat":{"maximum":100,"minimum":0,"type":["number","null"]},` +
		`"size":{"description":"Cups.","maximum":3,"minimum":1,"type":"integer"}},"required":["size"],"type":"object"},` +
		`{"properties":{"extras":{"items":{"properties":{"grams":{"maximum":50,"minimum":0,"type":"integer"}},"required":["grams"],"type":"object"},"maxItems":2,"type":"array"},` +
		`"milk":{"anyOf":[{"enum":["","oat","cow"]},{"properties":{"fat":{"maximum":9,"minimum":0,"type":"number"}},"required":["fat"],"type":"object"},{"type":"null"}]}},"type":"object"}]}`
	if string(got) != want || string(ref) != `{"items":{"$ref":"#/components/schemas/Drink"},"type":"array"}` {
		t.Errorf("got %s and %s", got, ref)
	}
}

func TestWordsOfAllAlternativesCount(t *testing.T) {
	either := Either(Object(Required("kind", Enum("a", "b"))), Object(Required("kind", Const("c"))),
		Object(Required("kind", Enum("b", "d"))))
	f := new(Fields).Apart().As(Object(OmitOnly("list", List(either)), Optional("one", either)))
	f.Item("list", 0, []byte(`{"kind":"e"}`)).Word("kind")
	const want = `list[0].kind must be a, b, c or d, not "e".`
	if f.Err() == nil || f.Err().Error() != want {
		t.Errorf("%v, want %s", f.Err(), want)
	}
}

// A glass is an answer with every kind of field.
type glass struct {
	_ struct{} `schema:"Glass" doc:"Holds a drink."`
	size
	*ice
	Of      string         `json:"of" enum:"water,tea" doc:"The drink."`
	Straws  []string       `json:"straws" enum:"red,blue"`
	Next    *string        `json:"next"`
	Spoon   *string        `json:"spoon,omitempty"`
	Lid     **size         `json:"lid,omitempty"`
	Full    *bool          `json:"full" enum:"true"`
	Layer   int            `json:"layer" enum:"0"`
	Price   AlwaysNull     `json:"price"`
	Tokens  []int32        `json:"tokens,omitzero"`
	Weights map[string]int `json:"weights"`
	Note    Raw            `json:"note"`
	More    RawObject      `json:"more"`
	hidden  int
	Skipped int `json:"-"`
}

type size struct {
	Cups float64 `json:"cups"`
}

type ice struct {
	Cubes int `json:"cubes"`
}

func TestAnswerOfDescribesWhatEncodingWrites(t *testing.T) {
	all := Schemas{}
	all.Of(AnswerOf[glass]())
	got, err := json.Marshal(all["Glass"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"description":"Holds a drink.","properties":{"cubes":{"type":"integer"},"cups":{"type":"number"},` +
		`"full":{"anyOf":[{"const":true},{"type":"null"}]},"layer":{"const":0},` +
		`"lid":{"properties":{"cups":{"type":"number"}},"required":["cups"],"type":["object","null"]},` +
		`"more":{"additionalProperties":true,"type":"object"},"next":{"type":["string","null"]},"note":{},` +
		`"of":{"description":"The drink.","enum":["water","tea"]},"price":{"type":"null"},"spoon":{"type":"string"},` +
		`"straws":{"items":{"enum":["red","blue"]},"type":"array"},` +
		`"tokens":{"items":{"maximum":2147483647,"minimum":0,"type":"integer"},"type":"array"},` +
		`"weights":{"additionalProperties":{"type":"integer"},"type":"object"}},` +
		`"required":["cups","of","straws","next","full","layer","price","weights","note","more"],"type":"object"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var written map[string]any
	if err := json.Unmarshal(Encode(glass{hidden: 1}), &written); err != nil {
		t.Fatal(err)
	}
	for _, f := range AnswerOf[glass]().fields {
		if _, there := written[f.name]; there == f.absent {
			t.Errorf("%s is written empty: %t", f.name, there)
		}
	}
}
