package native

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// recorded is testdata/templates.json.gz, which build/fixtures/template.py writes with transformers and jinja2.
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

// outcome is what the reference made of a template: a text, raise_exception's text, or the name of an exception.
type outcome struct {
	Text  *string
	Raise *string
	Error string
}

func readRecorded(t testing.TB) *recorded {
	t.Helper()
	f, err := os.Open("testdata/templates.json.gz")
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

// render compiles and renders at the recorder's time.
func (r *recorded) render(source string, vars []byte) (string, error) {
	now, err := time.Parse("2006-01-02T15:04:05.999999", r.Now)
	if err != nil {
		return "", err
	}
	tm, err := NewTemplate(source)
	if err != nil {
		return "", err
	}
	defer tm.Close()
	tm.Now = func() time.Time { return now }
	return tm.Render(vars)
}

// diff says how a result differs from the reference's, "" if it does not.
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
		return fmt.Sprintf("want %.80q, got %.80q from byte %d on", (*want.Text)[at:], got[min(at, len(got)):], at)
	case want.Raise != nil && err == nil:
		return fmt.Sprintf("want raise_exception(%q), got %q", *want.Raise, got)
	case want.Raise != nil && (te.Kind != KindRaise || te.Message != *want.Raise):
		return fmt.Sprintf("want raise_exception(%q), got (%s) %q", *want.Raise, te.Kind, te.Message)
	case want.Error != "" && err == nil:
		return fmt.Sprintf("want %s, got %q", want.Error, got)
	}
	return ""
}

func TestParity(t *testing.T) {
	r := readRecorded(t)
	if len(r.Cases) < 1000 {
		t.Fatalf("only %d cases recorded", len(r.Cases))
	}
	for _, c := range r.Cases {
		got, err := r.render(r.Templates[c.Template], r.Conversations[c.Conversation])
		if d := c.diff(got, err); d != "" {
			t.Errorf("%s with %s: %s", c.Template, c.Conversation, d)
		}
	}
}

// knownDifferences are the expressions that jinja2 evaluates and this package refuses, with a part of the error.
var knownDifferences = map[string]string{
	// minijinja's macros know their parameters only.
	"{% macro f() %}{{ kwargs }}{% endmacro %}{{ f(a=1) }}":   "implicit kwargs",
	"{% macro f() %}{{ varargs }}{% endmacro %}{{ f(1, 2) }}": "implicit varargs",
	// No chat template seen needs these.
	"{{ '%r' % 'x' }}":              "invalid conversion type 'r'",
	"{{ 'one two' | wordcount }}":   "filter wordcount is unknown",
	"{{ cycler('a', 'b').next() }}": "cycler is unknown",
	"{{ joiner(',')() }}":           "joiner is unknown",
}

// lenient are the expressions that jinja2 refuses and this package evaluates, with what it makes of them.
var lenient = map[string]string{
	// An undefined value sorts below every number.
	"{{ people | selectattr('age', 'gt', 10) | map(attribute='name') | join }}": "Bo",
	// minijinja iterates over none.
	"{% for x in z %}a{% else %}b{% endfor %}": "b",
}

// differing are the expressions that have another text here. Nothing that a prompt holds belongs in this table.
var differing = map[string]string{
	"{{ range(0) }}": "[]", // a range itself; range(n) | list is the same
}

func TestExpressions(t *testing.T) {
	r := readRecorded(t)
	for _, e := range r.Expressions {
		got, err := r.render(e.Source, r.Values)
		d := e.diff(got, err)
		if part, ok := knownDifferences[e.Source]; ok {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: want a known difference with %q in its error, got %q, %v", e.Source, part, got, err)
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
