package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var texts = []string{
	`{}`, `[]`, ` { } `, `{"a":1}`, ` {"a" : 1 , "b\"\u0041" : [1, {"c":"]}"}, null] } `,
	`{"a":"\\","b":true,"c":-1.5e3,"d":{}}`, `[1,2,3]`, "[ 1 ,\n\"x,y\" , [2,[3]] , {\"a\":[4]},null]",
	`[""]`, `"x"`, `7`, `null`, ``, `{`, `{"a"`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1} {}`, `[1,]`,
	`{'a':1}`, `p=1`, `{"a":1 "b":2}`, `{"a":"` + "\n" + `"}`, `{"\ud800":1}`, `{"a":[}`,
}

// EachMember and EachValue see what encoding/json sees.
func TestMembersAndValuesAreThoseOfTheStandardLibrary(t *testing.T) {
	for _, text := range texts {
		var object map[string]json.RawMessage
		want := json.Unmarshal([]byte(text), &object)
		got := map[string]json.RawMessage{}
		err := EachMember([]byte(text), func(key string, value json.RawMessage) error {
			got[key] = value
			return nil
		})
		if ok := want == nil && object != nil; ok != (err == nil) ||
			ok && fmt.Sprint(got) != fmt.Sprint(object) {
			t.Errorf("%s: %q %v, want %q %v", text, got, err, object, want)
		}
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) != nil || list == nil {
			continue
		}
		text = strings.TrimSpace(text)
		if got := slices.Collect(EachValue(json.RawMessage(text))); fmt.Sprint(got) !=
			fmt.Sprint(list) && len(list) > 0 {
			t.Errorf("%s: %q, want %q", text, got, list)
		}
		if first, n := FirstValues(json.RawMessage(text), 1); n != len(list) || len(first) > 1 {
			t.Errorf("%s: %q, %d of %d", text, first, n, len(list))
		}
	}
}

// The values of an object and of a list are parts of the text: nothing is copied.
func TestReadingABodyCopiesNothing(t *testing.T) {
	text := []byte(`{"a":[` + strings.Repeat(`{"b":"xxxxxxxx"},`, 100_000) + `1],"c":2}`)
	if n := testing.AllocsPerRun(1, func() {
		f, err := ParseFields(text, "")
		if err != nil || len(f.Values) != 2 {
			t.Error(err)
			return
		}
		if _, n := FirstValues(f.Values["a"], 10); n != 100_001 {
			t.Error(n)
		}
	}); n > 40 {
		t.Errorf("%v allocations", n)
	}
}

func TestValuesAreCountedWithoutIDs(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 1, `{"a":1}`: 1, `{"a":1,"b":2}`: 2, `{"p":[1,2,3,-4]}`: 1, `{"p":[[1,2],[3]]}`: 3,
		`{"a":["x","y"]}`: 3, `{"a":[{"b":[1,2,3]}]}`: 6, `{"a":{"b":[1,2,3]}}`: 5, `[1,2]`: 2,
		`{"a":"1,2,{[\",3"}`: 1, `{"p":[1,null,"x"]}`: 3,
	} {
		if got, _ := CountValues([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for text, refused := range map[string]bool{
		`{"prompt":[1` + strings.Repeat(",1", MaxValues) + `]}`:        false,
		`{"x":{"y":[1` + strings.Repeat(",1", MaxValues) + `]}}`:       true,
		`{"x":[""` + strings.Repeat(`,""`, MaxValues) + `]}`:           true,
		`{"x":[{}` + strings.Repeat(`,{}`, MaxValues) + `]}`:           true,
		`{"x":"` + strings.Repeat(`,[{`, MaxValues) + `"}`:             false,
		`{"x":1` + strings.Repeat(`,"y":1`, MaxValues) + `}`:           true,
		`{"p":[[1]` + strings.Repeat(`,[1,1,1]`, MaxValues/2) + `]}`:   false,
		`{"p":[[1]` + strings.Repeat(`,[1,1,1]`, MaxValues) + `,[1]]}`: true,
	} {
		if err := CheckText([]byte(text)); (err != nil) != refused {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}

func TestListOfAFieldIsBounded(t *testing.T) {
	for n, ok := range map[int]bool{0: true, 1: true, MaxItems: true, MaxItems + 1: false} {
		body := `{"list":[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `],"no":{}}`
		f, err := ParseFields([]byte(body), "")
		if err != nil {
			t.Fatal(err)
		}
		list := f.List("list", "must be a list.")
		if (f.Err() == nil) != ok || ok && len(list) != n {
			t.Errorf("%d: %d values, %v", n, len(list), f.Err())
		}
		*f.err = nil
		if f.List("no", "must be a list."); f.Err() == nil || f.Err().Error() != "no must be a list." {
			t.Errorf("%v", f.Err())
		}
	}
}
