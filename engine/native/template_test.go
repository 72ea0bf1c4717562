package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func mustTemplate(t testing.TB, source string) *Template {
	t.Helper()
	tm, err := NewTemplate(source, NewLane())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tm.Close() })
	return tm
}

func TestRenderKeepsOrderAndNumbers(t *testing.T) {
	tm := mustTemplate(t, "{% for m in messages %}\n<|{{ m.role }}|>{{ m | tojson }}\n{% endfor %}")
	const long = "1234567890123456789012345678901234567890123"
	got, err := tm.Render(t.Context(), []byte(`{"messages":[{"role":"user","z":1.0,"a":[1e-7,`+long+`]}]}`))
	want := `<|user|>{"role": "user", "z": 1.0, "a": [1e-07, ` + long + "]}\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

func TestErrorsTellKindAndLine(t *testing.T) {
	for _, c := range []struct {
		source, vars string
		kind         ErrorKind
		message      string // a part of it; for KindRaise all of it
	}{
		{"a\n{% if x %}\n{{ y", "{}", KindSyntax, "line 3"},
		{"a\n{% for x in y %}", "{}", KindSyntax, "line 2"},
		{"{{ 'a }}", "{}", KindSyntax, "line 1"},
		{"{{ '\\x4' }}", "{}", KindSyntax, "bad string escape"},
		{"\xff{{ a }}", "{}", KindSyntax, "UTF-8 at byte 0"},
		{"{{ raise_exception('no \"é\" {{') }}", "{}", KindRaise, `no "é" {{`},
		{"{% for i in range(3) %}{{ i }}{% if i == 2 %}{{ raise_exception(i) }}{% endif %}{% endfor %}", "{}", KindRaise, "2"},
		{"a\n\n{{ x.y.z }}", `{"x":{}}`, KindRender, "line 3"},
		{"{{ 'a' + 1 }}", "{}", KindRender, "unsupported types string and number"},
		{"{{ (1,) * 100000000 }}", "{}", KindRender, "a tuple cannot be multiplied"},
		{"{{ '{'.format(1) }}", "{}", KindRender, "a brace in a text for format has no partner"},
		{"{{ '{} {0}'.format(1, 2) }}", "{}", KindRender, "numbered all or not at all"},
		{"{{ '{1}'.format(1) }}", "{}", KindRender, "format has no value for the field {1}"},
		{"{{ '{0.}'.format(1) }}", "{}", KindRender, "format cannot read the field {0.}"},
		{"{{ '{0.a.b}'.format({}) }}", "{}", KindRender, "undefined value"},
		{"{{ '{!a}'.format(1) }}", "{}", KindRender, "format has no conversion !a"},
		{"{{ '{:n}'.format(1) }}", "{}", KindRender, "a number has no form n"},
		{"{{ '{:.2d}'.format(1) }}", "{}", KindRender, "the number 1 does not have the asked form"},
		{"{{ '{:>3}'.format(none) }}", "{}", KindRender, "a none has no form >3"},
		{"{{ '%s %s' % 1 }}", "{}", KindRender, "has a field without a value"},
		{"{{ '%q' % 1 }}", "{}", KindRender, "the form %q is not supported"},
		{"{{ 1 % 0 }}", "{}", KindRender, "1 % 0 has no value"},
		{"a\n{% include 'x' %}", "{}", KindSyntax, "line 2: the tag include is not supported"},
		{"{{ 'a' | nope }}", "{}", KindRender, "nope"},
		{"{{ strftime_now('%Q') }}", "{}", KindRender, "%Q is not supported"},
		{"{{ x }}", "", KindRender, "expected a value at byte 0"},
		{"{{ x }}", "[]", KindRender, "expected a JSON object"},
		{"{{ x }}", `{"x":1,}`, KindRender, "expected a key at byte 7"},
		{"{{ x }}", "{\"x\":\"\xff\"}", KindRender, "UTF-8 at byte 6"},
		{"{{ tojson }}{{ range }}", `{}`, KindRender, "cannot be printed"},
	} {
		tm, err := NewTemplate(c.source, NewLane())
		if err == nil {
			_, err = tm.Render(t.Context(), []byte(c.vars))
			tm.Close()
		}
		te, ok := errors.AsType[*TemplateError](err)
		if !ok || te.Kind != c.kind || !strings.Contains(te.Message, c.message) ||
			c.kind == KindRaise && te.Message != c.message {
			t.Errorf("%q with %q: got %v, want %s %q", c.source, c.vars, err, c.kind, c.message)
		}
	}
}

// Without limits each template takes all memory, all time or the whole stack.
func TestHostileTemplatesReachALimit(t *testing.T) {
	grow := func(op string) string {
		return "{% set ns = namespace(x='x', n=0) %}{% for i in range(200) %}{% set ns.x = " + op +
			" %}{% endfor %}{{ ns.x | length }}"
	}
	loop := func(body string) string {
		return "{% set ns = namespace(x=[], s='abc') %}" +
			"{% for a in range(100000) %}{% for b in range(100000) %}" + body +
			"{% endfor %}{% endfor %}"
	}
	for _, c := range []struct{ name, source, message string }{
		{"output", "{% for i in range(100000) %}{{ x }}{{ x }}{% endfor %}", "output is longer"},
		{"output in one piece", "{{ 'x' * 5000000 }}", "output is longer"},
		{"concatenation", grow("ns.x ~ ns.x"), "builds more than"},
		{"addition", grow("ns.x + ns.x"), "builds more than"},
		{"list addition", "{% set ns = namespace(x=[1]) %}{% for i in range(200) %}{% set ns.x = ns.x + ns.x %}{% endfor %}", "builds more than"},
		{"multiplication", grow("ns.x * 1000000"), "too large"},
		{"multiplication by the longest", "{{ 'x' * 9223372036854775807 }}", "too large"},
		{"list multiplication", "{{ [1] * 4000000000 }}", "too large"},
		{"long lists", "{{ [1] * 90000000 }}", "builds more than"},
		{"constant texts", strings.Repeat("{{ 'x' * 90000000 }}", 1000), "builds more than"},
		{"kept texts", "{% set ns = namespace(x=[], s=x * 100000) %}{% for i in range(1000) %}{% set ns.x = ns.x + [ns.s | upper] %}{% endfor %}", "builds more than"},
		{"raw text", "{% for i in range(100000) %}" + strings.Repeat("x", 1000) + "{% endfor %}", "output is longer"},
		{"captured raw text", "{% for i in range(100000) %}{% set y %}" + strings.Repeat("x", 10000) + "{% endset %}{% endfor %}", "builds more than"},
		{"pieces", "{% for i in range(1000) %}{% set y = (x * 10000).split('x') %}{% endfor %}", "builds more than"},
		{"join", grow("[ns.x, ns.x] | join"), "builds more than"},
		{"replace", grow("ns.x | replace('x', 'xx')"), "builds more than"},
		{"replace method", grow("ns.x.replace('', 'xx')"), "builds more than"},
		{"join method", grow("'x'.join([ns.x, ns.x])"), "builds more than"},
		{"captures", "{% set ns = namespace(x=x) %}{% for i in range(200) %}{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}", "builds more than"},
		{"indent", "{{ 'x' | indent(999999999) }}", "builds more than"},
		{"width", "{{ '{:>999999999}'.format(1) }}", "builds more than"},
		{"width of zeros", "{{ '{:0999999999}'.format(1) }}", "builds more than"},
		{"precision", "{{ '{:.999999999f}'.format(1.5) }}", "builds more than"},
		{"width of %", "{{ '%999999999d' % 1 }}", "builds more than"},
		{"width from a value", "{{ '{:{}}'.format('x', 999999999) }}", "builds more than"},
		{"fields", "{% for i in range(100) %}{% set y = ('{0}' * 10000).format(x * 1000) %}{% endfor %}", "builds more than"},
		{"fields of %", "{% for i in range(100) %}{% set y = ('%(a)s' * 10000) % {'a': x * 1000} %}{% endfor %}", "builds more than"},
		{"tojson indent", "{% for i in range(100000) %}{% set y = [[1]] | tojson(indent='" + strings.Repeat("x", 10000) + "') %}{% endfor %}", "builds more than"},
		{"endless loop", loop(""), "instructions"},
		{"endless printing", loop("{{ '' }}"), "instructions"},
		{"endless recursion", "{% macro f(x) %}{{ f(x + 1) }}{% endmacro %}{{ f(0) }}", "recursion limit"},
		{"recursive loop", "{% set l = [1] %}{% for x in l recursive %}{{ loop(l) }}{% endfor %}", "recursion"},
		{"deep list", loop("{% set ns.x = [ns.x] %}"), "deeper than 100"},
		{"deep dict", loop("{% set ns.x = {'a': ns.x} %}"), "deeper than 100"},
		{"deep iterator", loop("{% set ns.x = ns.x | map('string') %}"), ""},
		{"namespace in itself", "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "namespace cannot be stored"},
		{"namespace in a list", "{% set ns = namespace() %}{% set ns.a = [[ns]] %}", "namespace cannot be stored"},
		{"parentheses", "{{ " + strings.Repeat("(", 1000) + strings.Repeat(")", 1000) + " }}", "recursion limit"},
		{"brackets", "{{ " + strings.Repeat("x[", 99) + "1:2" + strings.Repeat("]", 99) + " }}", ""},
		{"ifs", strings.Repeat("{% if x %}", 10000) + strings.Repeat("{% endif %}", 10000), "recursion"},
		{"loops", strings.Repeat("{% for a in x %}", 10000) + strings.Repeat("{% endfor %}", 10000), "recursion"},
		{"elifs", "{% if y %}" + strings.Repeat("{% elif y %}", 80000) + "{% endif %}", "1000 elif"},
		{"most elifs", "{% if y %}" + strings.Repeat("{% elif y %}", 1000) + "{% endif %}", ""},
		{"signs", "{{ " + strings.Repeat("-", 1<<19) + "1 }}", "4000 tokens"},
		{"longest signs", "{{ " + strings.Repeat("-", 3998) + "1 }}", ""},
		{"longest nots", "{{ " + strings.Repeat("not ", 3998) + "1 }}", ""},
		{"longest sum", "{{ 1" + strings.Repeat(" + 1", 1999) + " }}", ""},
		{"longest difference", "{{ 1" + strings.Repeat(" - 1", 1999) + " }}", ""},
		{"longest mixed sum", "{{ 1" + strings.Repeat(" - 1 + 1", 999) + " }}", ""},
		{"longest power", "{{ 1" + strings.Repeat(" ** 1", 1999) + " }}", ""},
		{"longest text", "{{ " + strings.Repeat("'a'", 3999) + " }}", ""},
		{"longest filter chain", "{{ x" + strings.Repeat(" | upper", 1999) + " }}", ""},
		{"longest attribute chain", "{{ x" + strings.Repeat(".a", 1999) + " }}", ""},
		{"longest dict attribute chain", "{{ x" + strings.Repeat(".items", 1999) + " }}", ""},
		{"longest slice chain", "{{ x" + strings.Repeat("[1:]", 999) + " }}", ""},
		{"longest call chain", "{{ x" + strings.Repeat("()", 1999) + " }}", ""},
		{"longest and chain", "{{ x" + strings.Repeat(" and x", 1999) + " }}", ""},
		{"longest comparison", "{{ x" + strings.Repeat(" < x", 1999) + " }}", ""},
		{"longest else chain", "{{ x" + strings.Repeat(" if y else x", 999) + " }}", ""},
		{"longest test chain", "{{ x" + strings.Repeat(" is string", 1999) + " }}", ""},
		{"many tags", strings.Repeat("{{y}}", 200000), ""},
		{"power", "{{ 10 ** 10000 }}", ""},
		{"source", strings.Repeat("x", 1<<20+1), "the limit is 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tm, err := NewTemplate(c.source, NewLane())
			if err == nil {
				defer tm.Close()
				_, err = tm.Render(t.Context(), []byte(`{"x":"`+strings.Repeat("x", 100)+`"}`))
			}
			te, ok := errors.AsType[*TemplateError](err)
			switch {
			case c.message == "" && err != nil && !ok:
				t.Errorf("got %v, want a text or a TemplateError", err)
			case c.message != "" && !ok:
				t.Errorf("got %v, want an error with %q", err, c.message)
			// On a slow machine time may run out first.
			case c.message != "" && !strings.Contains(te.Message, c.message) &&
				!strings.Contains(te.Message, "of the processor") ||
				te != nil && c.message != "" && te.Kind == KindRender:
				t.Errorf("got (%s) %.200s, want a limit with %q", te.Kind, te.Message, c.message)
			}
		})
	}
}

func TestDeepVariablesAreRefused(t *testing.T) {
	tm := mustTemplate(t, "{{ x | tojson }}|{{ x }}")
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	got, err := tm.Render(t.Context(), []byte(`{"x":`+nested(63)+`}`))
	if err != nil || got != nested(63)+"|"+nested(63) {
		t.Errorf("63 levels in an object: got %q, %v", got, err)
	}
	_, err = tm.Render(t.Context(), []byte(`{"x":`+nested(64)+`}`))
	if te, ok := errors.AsType[*TemplateError](err); !ok || te.Kind != KindLimit {
		t.Errorf("64 levels in an object: got %v, want a limit", err)
	}
	if _, err = tm.Render(t.Context(), []byte(strings.Repeat("[", 1<<20))); err == nil {
		t.Error("a million brackets: no error")
	}
}

// The reference is encoding/json.
func TestVariablesAreReadAsJSON(t *testing.T) {
	tm := mustTemplate(t, "{{ x | tojson }}")
	for _, text := range []string{
		`0`, `-0`, `1.5e3`, `1E-7`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `1e400`, `0x1`, `NaN`,
		`true`, `tru`, `nul`, `null`,
		`""`, `"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`,
		`"\u12"`, `"\x"`, "\"\n\"", `"`, `"a`,
		`[]`, `[1,2]`, `[1,]`, `[,]`, `[1 2]`, `[`, `]`, ` [ 1 , { "a" : 2 } ] `, `{}`,
		`{"a":1,"b":2,"a":3}`, `{"a"}`, `{a:1}`, `{"a":1,}`, `{"a" 1}`, `1 1`, ``,
	} {
		_, err := tm.Render(t.Context(), []byte(`{"x":`+text+`}`))
		if valid := json.Valid([]byte(`{"x":` + text + `}`)); valid != (err == nil) {
			t.Errorf("%s: valid is %v, got %v", text, valid, err)
		}
	}
	got, err := tm.Render(t.Context(), []byte(`{"x":{"a":1,"b":-0,"a":3,"s":"\ud83d\ude00\ud83dx\u2028","f":-0.0,"i":1e400}}`))
	if want := `{"a": 3, "b": 0, "s": "😀` + "\ufffdx\u2028" +
		`", "f": -0.0, "i": Infinity}`; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestStrftimePrintsNow(t *testing.T) {
	tm := mustTemplate(t, "{{ strftime_now('%Y-%m-%d %H:%M:%S %a') }}")
	tm.Now = func() time.Time {
		return time.Date(2024, 12, 31, 23, 4, 5, 0, time.FixedZone("x", 3600))
	}
	if got, err := tm.Render(t.Context(), []byte("{}")); err != nil || got != "2024-12-31 23:04:05 Tue" {
		t.Errorf("got %q, %v", got, err)
	}
	tm.Now = nil
	before := time.Now().Format("2006-01-02")
	got, err := tm.Render(t.Context(), []byte("{}"))
	after := time.Now().Format("2006-01-02")
	if err != nil || !strings.HasPrefix(got, before) && !strings.HasPrefix(got, after) {
		t.Errorf("got %q, %v, today is %s", got, err, after)
	}
}

func TestClosedTemplateIsAnError(t *testing.T) {
	tm := mustTemplate(t, "x")
	if err := tm.Close(); err != nil {
		t.Error(err)
	}
	if err := tm.Close(); err == nil {
		t.Error("second Close: no error")
	}
	if _, err := tm.Render(t.Context(), []byte("{}")); err == nil {
		t.Error("Render after Close: no error")
	}
}

func TestConcurrentRendersAreIndependent(t *testing.T) {
	tm := mustTemplate(t, "{% set ns = namespace(s='') %}"+
		"{% for i in range(n) %}{% set ns.s = ns.s ~ c %}{% endfor %}"+
		"{% if fail %}{{ raise_exception(c) }}{% endif %}{{ ns.s }}")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			c := string(rune('a' + g))
			for n := range 100 {
				fail := n%10 == 9
				got, err := tm.Render(t.Context(), fmt.Appendf(nil, `{"n":%d,"c":%q,"fail":%v}`, n, c, fail))
				if fail {
					if err == nil || err.Error() != c {
						t.Errorf("got %v, want the error %s", err, c)
					}
				} else if err != nil || got != strings.Repeat(c, n) {
					t.Errorf("got %q, %v, want %d of %s", got, err, n, c)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzTemplate(f *testing.F) {
	r := readRecorded(f, "templates.json.gz")
	for _, source := range r.Templates {
		f.Add(source, []byte(r.Conversations["calls/tools"]))
	}
	for i, e := range r.Expressions {
		if i%5 == 0 {
			f.Add(e.Source, []byte(r.Values))
		}
	}
	f.Add("{{ '%*d' % (9, 9) }}{{ x[::", []byte(`{"x":[[[1e999]]]}`))
	f.Add("", []byte("0"))
	f.Add("{{ l }}", []byte("{\"l\": \"\x80\x0e\"}"))
	f.Fuzz(func(t *testing.T, source string, vars []byte) {
		start := time.Now()
		tm, err := NewTemplate(source, NewLane())
		var text string
		if err == nil {
			defer tm.Close()
			text, err = tm.Render(t.Context(), vars)
		}
		if d := time.Since(start); d > 2*maxTime || len(text) > 4<<20 {
			t.Errorf("%d bytes after %v", len(text), d)
		}
		if _, ok := errors.AsType[*TemplateError](err); err != nil && !ok {
			t.Errorf("error is a %T: %v", err, err)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	r := readRecorded(b, "templates.json.gz")
	for _, name := range []string{"qwen3", "gpt_oss"} {
		b.Run(name, func(b *testing.B) {
			tm := mustTemplate(b, r.Templates[name])
			vars := r.Conversations["call/tools"]
			for b.Loop() {
				if _, err := tm.Render(b.Context(), vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
