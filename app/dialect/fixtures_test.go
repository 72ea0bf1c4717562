package dialect

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the parts into testdata")

// offered are the tools that the tests offer.
var offered = []Tool{
	{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{` +
		`"city":{"type":"string"},"days":{"type":"integer"},"fine":{"type":"boolean"},` +
		`"tags":{"type":"array","items":{"type":"string"}},` +
		`"note":{"anyOf":[{"type":"string"},{"type":"null"}]},` +
		`"at":{"$ref":"#/$defs/place"}},"required":["city"],` +
		`"$defs":{"place":{"type":"object","properties":{"x":{"type":"number"}}}}}`)},
	{Name: "now"},
	{Name: "get_user_info"},
	{Name: "Web Search Now"},
	{Name: "get_product_name_by_PID"},
}

// A fixture is an answer of a family, and the parts that it holds.
type fixture struct {
	file     string
	sections map[string]string
}

func readFixtures(t testing.TB) []fixture {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d fixtures: %v", len(files), err)
	}
	var list []fixture
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{file, map[string]string{}}
		for section := range strings.SplitSeq("\n"+string(b), "\n-- ") {
			if name, text, ok := strings.Cut(section, " --\n"); ok {
				f.sections[name] = text
			}
		}
		list = append(list, f)
	}
	return list
}

// dialect returns the dialect of a fixture.
func (f fixture) dialect() *Dialect {
	return Detect(f.sections["template"], special(strings.Fields(f.sections["special"])...))
}

// options returns the options for the fixture's parser.
func (f fixture) options() Options {
	prompt := strings.ReplaceAll(f.sections["prompt"], `\n`, "\n")
	return Options{Tools: offered, Calls: true, Prompt: prompt}
}

// TestFixturesReadAlikeHoweverSplit: an answer of each family has the recorded parts, wherever it
// is split. Without tools it has no calls.
func TestFixturesReadAlikeHoweverSplit(t *testing.T) {
	for _, f := range readFixtures(t) {
		t.Run(filepath.Base(f.file), func(t *testing.T) {
			d, text := f.dialect(), f.sections["text"]
			got := "dialect " + d.Name() + "\n" + show(read(t, d, f.options(), false, text))
			if *update {
				b, err := os.ReadFile(f.file)
				if err != nil {
					t.Fatal(err)
				}
				before, _, _ := strings.Cut(string(b), "-- parts --\n")
				if err := os.WriteFile(f.file, []byte(before+"-- parts --\n"+got),
					0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := f.sections["parts"]; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			for _, part := range joined(d, Options{}, false, text) {
				if part.Kind == Call || part.Kind == Arguments {
					t.Errorf("without tools there is %+v", part)
				}
			}
		})
	}
}

// TestSpecialNamesExactlyTheTokensThatAnswersUse: Special names each special token that a parser
// needs to see, and no other text.
func TestSpecialNamesExactlyTheTokensThatAnswersUse(t *testing.T) {
	for _, f := range readFixtures(t) {
		want := strings.Fields(f.sections["special"])
		got := f.dialect().Special()
		for _, text := range got {
			if !slices.Contains(want, text) {
				t.Errorf("%s: %q is not a special token", f.file, text)
			}
		}
		for _, text := range want {
			if strings.Contains(f.sections["text"], text) && !slices.Contains(got, text) {
				t.Errorf("%s: Special lacks %q", f.file, text)
			}
		}
	}
}
