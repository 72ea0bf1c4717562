package native

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded is a file of testdata that has what transformers and jinja2 render. build/fixtures/template.py
// writes templates.json.gz, and published.py writes published.json.gz.
type recorded struct {
	Versions      map[string]string
	Now           string
	Templates     map[string]string
	Conversations map[string]json.RawMessage
	Cases         []struct {
		Template, Conversation string
		outcome
	}
	Values      json.RawMessage
	Expressions []struct {
		Source string
		outcome
	}
}

// outcome is the reference's result for a template: a text, the text of raise_exception, or the
// name of an exception.
type outcome struct {
	Text  *string
	Raise *string
	Error string
}

func readRecorded(t testing.TB, name string) *recorded {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := new(recorded)
	if err := json.NewDecoder(z).Decode(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// render compiles and renders a template at the time of the recording.
func (r *recorded) render(source string, vars []byte) (string, error) {
	now, err := time.Parse("2006-01-02T15:04:05.999999", r.Now)
	if err != nil {
		return "", err
	}
	tm, err := NewTemplate(source, NewLane())
	if err != nil {
		return "", err
	}
	defer tm.Close()
	tm.Now = func() time.Time { return now }
	return tm.Render(context.Background(), vars)
}

// diff returns the difference of a result from the reference's, "" for none.
func (want outcome) diff(got string, err error) string {
	te, _ := err.(*TemplateError)
	switch {
	case err != nil && te == nil:
		return fmt.Sprintf("error is a %T: %v", err, err)
	case want.Text != nil && err != nil:
		return fmt.Sprintf("want %q, got error (%s) %v", *want.Text, te.Kind, err)
	case want.Text != nil && got != *want.Text:
		at := 0
		for at < min(len(got), len(*want.Text)) && got[at] == (*want.Text)[at] {
			at++
		}
		at = max(0, at-20)
		return fmt.Sprintf("want %.80q, got %.80q from byte %d on",
			(*want.Text)[at:], got[min(at, len(got)):], at)
	case want.Raise != nil && err == nil:
		return fmt.Sprintf("want raise_exception(%q), got %q", *want.Raise, got)
	case want.Raise != nil && (te.Kind != KindRaise || te.Message != *want.Raise):
		return fmt.Sprintf("want raise_exception(%q), got (%s) %q",
			*want.Raise, te.Kind, te.Message)
	case want.Error != "" && err == nil:
		return fmt.Sprintf("want %s, got %q", want.Error, got)
	}
	return ""
}

// loopOverNone are published templates that loop over none in some conversations. jinja2 raises a
// TypeError there, and minijinja makes no round.
var loopOverNone = []string{"lfm2_2_5", "lfm2_2_5_v2", "qwen2_5_vl", "qwen3_vl",
	"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use"}

// escapesTools is a published template that adds the JSON of a tool to a text it calls safe. jinja2
// escapes its quotes for HTML, and this package does not.
const escapesTools = "meetkai-functionary-medium-v3.1"

func TestTemplatesRenderAsInTransformers(t *testing.T) {
	for name, cases := range map[string]int{"templates.json.gz": 1000, "published.json.gz": 600} {
		r := readRecorded(t, name)
		if len(r.Cases) < cases {
			t.Fatalf("%s: only %d cases recorded", name, len(r.Cases))
		}
		for _, c := range r.Cases {
			got, err := r.render(r.Templates[c.Template], r.Conversations[c.Conversation])
			if c.Error == "TypeError" && slices.Contains(loopOverNone, c.Template) && err == nil {
				continue
			}
			if c.Text != nil && c.Template == escapesTools {
				*c.Text = strings.ReplaceAll(*c.Text, "&#34;", `"`)
			}
			if d := c.diff(got, err); d != "" {
				t.Errorf("%s: %s with %s: %s", name, c.Template, c.Conversation, d)
			}
		}
	}
}

// refused are the expressions that jinja2 evaluates and this package refuses, with a part of the
// error. No published template that was measured needs one.
var refused = map[string]string{
	// minijinja's macros accept only their own parameters.
	"{% macro f() %}{{ kwargs }}{% endmacro %}{{ f(a=1) }}":   "unknown keyword argument",
	"{% macro f() %}{{ varargs }}{% endmacro %}{{ f(1, 2) }}": "too many arguments",
	"{% block b %}x{% endblock %}":                            "the tag block is not supported",
	"{{ 'x' | center(5) }}":                                   "filter center is unknown",
	"{{ 'one two' | wordcount }}":                             "filter wordcount is unknown",
	"{{ range is callable }}":                                 "test callable is unknown",
	"{{ cycler('a', 'b').next() }}":                           "cycler is unknown",
	"{{ joiner(',')() }}":                                     "joiner is unknown",
	"{{ s.index('W') }}":                                      "no method named index",
	"{{ 'hELLO wORLD'.swapcase() }}":                          "no method named swapcase",
	"{{ 'a,b,,c'.rsplit(',', 1) }}":                           "no method named rsplit",
	"{{ s.removeprefix('Hello ') }}":                          "no method named removeprefix",
	"{{ 'a=b=c'.partition('=') }}":                            "no method named partition",
	"{{ '7'.zfill(3) }}":                                      "no method named zfill",
	"{{ 'x'.ljust(3) ~ '|' }}":                                "no method named ljust",
	"{{ 'ab' * -1 }}":                                         "multiplied with integers",
	"{{ 'x' | int }}":                                         "invalid float literal",
	// Here these arguments have no name, or are unknown.
	"{{ s.find('o', 5) }}":                                                             "too many arguments",
	"{{ ' a  b c '.split(maxsplit=1) }}":                                               "not a string",
	"{{ z | default('d', boolean=t) }}":                                                "too many arguments",
	"{{ s | replace('l', 'L', count=2) }}":                                             "cannot convert map",
	"{{ people | join(',', attribute='name') }}":                                       "not a string",
	"{{ [1, 2, 3, 4, 5] | batch(2) | list }}":                                          "filter batch is unknown",
	"{{ [1, 2, 3, 4, 5] | slice(2) | list }}":                                          "filter slice is unknown",
	"{{ strftime_now('%c|%x|%X|%D|%F|%T|%R|%e|%j|%U|%W|%w|%u|%y|%C|%I|%p|%%|%Z%z') }}": "%c is not supported",
}

// lenient are the expressions that jinja2 refuses and this package evaluates, with the text here.
var lenient = map[string]string{
	// An undefined value sorts below every number.
	"{{ people | selectattr('age', 'gt', 10) | map(attribute='name') | join }}": "Bo",
	// minijinja iterates over none.
	"{% for x in z %}a{% else %}b{% endfor %}": "b",
	// minijinja does not know this escape.
	`{{ '\U00110000' }}`: `\U00110000`,
}

// differing are the expressions with another text here. No published template that was measured
// has a different prompt because of one.
var differing = map[string]string{
	"{{ range(0) }}": "[]", // a range itself; range(n) | list is the same
	// Python finds a dict's method where it has no such key.
	"{{ plain.items is defined }}":    "False",
	"{{ plain['items'] is defined }}": "False",
	// Methods of minijinja-contrib.
	`{{ "it's o'neill".title() }}`: "It's O'neill",
	"{{ 'ß ﬁn'.capitalize() }}":    "SS ﬁn",
	// The filter drops the line end at the end.
	`{{ 'a\n\nb\n' | indent(2, true, true) }}`: "  a\n  \n  b",
	// trim_blocks takes the line end after this tag too.
	"{% raw %}\n a\n{% endraw %}\nb": " a\nb",
}

func TestExpressionsEvaluateAsInJinja2(t *testing.T) {
	r := readRecorded(t, "templates.json.gz")
	for _, e := range r.Expressions {
		got, err := r.render(e.Source, r.Values)
		d := e.diff(got, err)
		if part, ok := refused[e.Source]; ok {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: want an error with %q, got %q, %v", e.Source, part, got, err)
			}
			continue
		}
		if text, ok := lenient[e.Source]; ok {
			if e.Text != nil || got != text {
				t.Errorf("%s: want the lenient %q, got %q, %v", e.Source, text, got, err)
			}
			continue
		}
		if text, ok := differing[e.Source]; ok {
			if d == "" || got != text {
				t.Errorf("%s: want the differing %q, got %q, %v", e.Source, text, got, err)
			}
			continue
		}
		if d != "" {
			t.Errorf("%s: %s", e.Source, d)
		}
	}
}
