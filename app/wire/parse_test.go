package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func TestRenamedFieldsKeepTheirOrder(t *testing.T) {
	names := map[string]string{"old": "new", "gone": ""}
	for body, want := range map[string]string{
		`{"z":1,"old":null,"gone":2,"a":[3]}`: `z=1 new=null a=[3]`,
		`{"old":1,"new":2}`:                   `list[0] names "new" twice.`,
		`{"new":1,"old":2}`:                   `list[0] names "new" twice.`,
		`{"gone":1}`:                          ``,
	} {
		f, err := ParseFields([]byte(body), "list[0].")
		if err != nil {
			t.Fatal(err)
		}
		f.Rename(names)
		var got []string
		for _, m := range f.Members() {
			got = append(got, m.Key+"="+string(m.Value))
		}
		text := strings.Join(got, " ")
		if f.Err() != nil {
			text = f.Err().Error()
		}
		if text != want {
			t.Errorf("%s: %s, want %s", body, text, want)
		}
	}
}

func TestItemsEndAtTheFirstError(t *testing.T) {
	for body, want := range map[string]string{
		`{"list":[{"n":1},{"n":2}]}`:           "1 2",
		`{"list":[{"n":1},7,{"n":3}]}`:         "1, list[1] must be an object.",
		`{"list":[{"n":1},{"n":"x"},{"n":3}]}`: "1 0, list[1].n must be a whole number.",
	} {
		f, err := ParseFields([]byte(body), "")
		if err != nil {
			t.Fatal(err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(f.Raw("list"), &list); err != nil {
			t.Fatal(err)
		}
		var read []string
		for o := range f.Items("list", list) {
			n := 0
			if p := o.Int("n", 0, 9); p != nil {
				n = *p
			}
			read = append(read, strconv.Itoa(n))
		}
		got := strings.Join(read, " ")
		if f.Err() != nil {
			got += ", " + f.Err().Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
