package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// vocabulary has a token for each byte, two for words, and two special ones. The first special one
// ends a text.
var vocabulary = func() []string {
	var tokens []string
	for i := range 256 {
		tokens = append(tokens, string([]byte{byte(i)}))
	}
	return append(tokens, "true", `{"a"`, "<end>", "<call>", "")
}()

const endToken, callToken = 258, 259

// token returns the bytes of a token of vocabulary. The tokens from endToken on are special.
func token(id int32) (text []byte, special bool) {
	return []byte(vocabulary[id]), id >= endToken
}

// deep returns a schema with n levels of lists.
func deep(n int) string {
	return strings.Repeat(`{"items":`, n) + "{}" + strings.Repeat("}", n)
}

func newVocabulary(t *testing.T) *Vocabulary { return newVocabularyOn(t, NewLane()) }

// patientLane returns a lane with time for a heavy call on a machine that is busy with other tests.
func patientLane() *Lane {
	return &Lane{make(chan struct{}, 1), budget{time: time.Minute, memory: heavy.memory},
		10 * time.Minute}
}

func newVocabularyOn(t *testing.T, lane *Lane) *Vocabulary {
	t.Helper()
	v, err := NewVocabulary(len(vocabulary), func(id int32) ([]byte, bool) {
		return []byte(vocabulary[id]), id == endToken || id == callToken
	}, []int32{endToken}, lane)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func newMatcher(t *testing.T, v *Vocabulary, grammars ...Grammar) *Matcher {
	t.Helper()
	m, err := v.Matcher(t.Context(), grammars...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// allowed returns the tokens that may follow.
func allowed(t *testing.T, m *Matcher) []int32 {
	t.Helper()
	bits := make([]uint32, m.Words())
	if err := m.Mask(bits); err != nil {
		t.Fatal(err)
	}
	var ids []int32
	for id := range int32(len(bits) * 32) {
		if bits[id/32]>>(id%32)&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// spell returns the texts of tokens, with spaces between them.
func spell(ids []int32) string {
	var s []string
	for _, id := range ids {
		s = append(s, vocabulary[id])
	}
	return strings.Join(s, " ")
}

// push accepts each byte of a text as a token.
func push(t *testing.T, m *Matcher, text string) {
	t.Helper()
	for _, b := range []byte(text) {
		if err := m.Accept(int32(b)); err != nil {
			t.Fatalf("%q of %q: %v", b, text, err)
		}
	}
}

func TestMaskHasTheTokensThatMayFollow(t *testing.T) {
	v := newVocabulary(t)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"boolean"}},` +
		`"required":["a"],"additionalProperties":false}`)
	for _, c := range []struct {
		name     string
		grammars []Grammar
		text     string // the text accepted before
		want     string // the tokens that may follow
	}{
		{"regex", []Grammar{{Regex: "a|b/c"}}, "", "a b"},
		{"a slash in a regex", []Grammar{{Regex: "a|b/c"}}, "b", "/"},
		{"an escaped slash", []Grammar{{Regex: `b\/c`}}, "b", "/"},
		{"a line's end in a regex", []Grammar{{Regex: "a\nb"}}, "a", "\n"},
		{"the end", []Grammar{{Regex: "ab*"}}, "a", "b <end>"},
		{"nothing but the end", []Grammar{{Regex: "ab"}}, "ab", "<end>"},
		{"a name", []Grammar{{JSON: schema}}, "{\"", "a"},
		{"tokens of several bytes", []Grammar{{JSON: schema}}, `{"a":`, "\t \n \r   f t true"},
		{"the end of a value", []Grammar{{JSON: schema}}, `{"a":true}`, "<end>"},
		{"a special token", []Grammar{{Lark: `start: "a" | <call> "b"`}}, "", "a <call>"},
		{"text that looks like a special token", []Grammar{{Lark: `start: "<call>"`}}, "", "<"},
		{"a grammar within", []Grammar{
			{Lark: `start: "x" @inner`},
			{Name: "inner", JSON: schema},
		}, "x", `{ {"a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMatcher(t, v, c.grammars...)
			push(t, m, c.text)
			if got := spell(allowed(t, m)); got != c.want {
				t.Errorf("after %q: %q may follow, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestTextStopsWhereNothingMayFollow(t *testing.T) {
	v := newVocabulary(t)
	m := newMatcher(t, v, Grammar{Regex: "ab*"})
	push(t, m, "ab")
	if m.Stopped() {
		t.Error("stopped where b may follow")
	}
	if err := m.Accept(endToken); err != nil || !m.Stopped() {
		t.Errorf("after the end: stopped %t, %v", m.Stopped(), err)
	}
	if err := m.Rollback(1); err != nil || m.Stopped() {
		t.Errorf("after the end was rolled back: stopped %t, %v", m.Stopped(), err)
	}
	if got := spell(allowed(t, m)); got != "b <end>" {
		t.Errorf("after the end was rolled back %q may follow", got)
	}
}

// A random walk rolls back at random places. It must then see the same masks as on the way there.
func TestRollbackRestoresMasks(t *testing.T) {
	v := newVocabulary(t)
	schema := Grammar{JSON: json.RawMessage(`{"type":"array","items":{"anyOf":[` +
		`{"type":"integer"},{"type":"string","maxLength":4},` +
		`{"type":"object","properties":{"a":{"type":"boolean"}}}]}}`)}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		m := newMatcher(t, v, schema)
		var masks []string
		for len(masks) < 60 && !m.Stopped() {
			ids := allowed(t, m)
			masks = append(masks, fmt.Sprint(ids))
			if err := m.Accept(ids[rng.IntN(len(ids))]); err != nil {
				t.Fatal(err)
			}
			if n := rng.IntN(6); n > 0 && n <= len(masks) {
				if err := m.Rollback(n); err != nil {
					t.Fatalf("%d tokens back of %d: %v", n, len(masks), err)
				}
				masks = masks[:len(masks)-n]
				fresh := fmt.Sprint(allowed(t, m))
				if len(masks) > 0 && rng.IntN(2) == 0 {
					continue
				}
				if len(masks) == 0 {
					if other := fmt.Sprint(allowed(t, newMatcher(t, v, schema))); fresh != other {
						t.Fatalf("at the beginning again %s may follow, want %s", fresh, other)
					}
				}
			}
		}
	}
}

func TestBrokenGrammarsAreRefused(t *testing.T) {
	v := newVocabulary(t)
	for _, c := range []struct {
		name    string
		grammar Grammar
		kind    ErrorKind
		want    string
	}{
		{"a regex", Grammar{Regex: "(a"}, KindSyntax, "unclosed group"},
		{"a rule", Grammar{Lark: `start: nothing`}, KindSyntax, "nothing"},
		{"a type", Grammar{JSON: json.RawMessage(`{"type":"text"}`)}, KindSyntax, "text"},
		{"a schema without a value", Grammar{JSON: json.RawMessage(`false`)}, KindSyntax, "no value"},
		{"a schema elsewhere", Grammar{JSON: json.RawMessage(`{"$ref":"https://example.com/a.json"}`)},
			KindSyntax, "ref"},
		{"a deep schema", Grammar{JSON: json.RawMessage(deep(5000))}, KindSyntax, "recursion"},
		{"a large one", Grammar{Lark: "start: \"a\" //" + strings.Repeat("x", 1<<20)}, KindLimit, "1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := v.Matcher(t.Context(), c.grammar)
			if err == nil {
				m.Close()
				t.Fatal("the grammar was accepted")
			}
			e, ok := errors.AsType[*GrammarError](err)
			if !ok || e.Kind != c.kind || !strings.Contains(e.Message, c.want) {
				t.Errorf("refused by %#v", err)
			}
		})
	}
	if got := spell(allowed(t, newMatcher(t, v, Grammar{Regex: "ok"}))); got != "o" {
		t.Errorf("then %q may follow", got)
	}
}

func TestTokenThatIsNotAllowedBreaksOnlyItsMatcher(t *testing.T) {
	v := newVocabulary(t)
	m := newMatcher(t, v, Grammar{Regex: "ab"})
	if err := m.Accept('x'); err == nil {
		t.Error("x was accepted")
	}
	if err := m.Mask(make([]uint32, m.Words())); err == nil {
		t.Error("a broken matcher has a mask")
	}
	if !m.Stopped() {
		t.Error("a broken matcher has not stopped")
	}
	if err := newMatcher(t, v, Grammar{Regex: "ab"}).Mask(make([]uint32, 1)); err == nil {
		t.Error("a mask of another size was filled")
	}
}

// A walk gives the masks that single steps give, and leaves the text as it is.
func TestWalkGivesTheMasksOfSingleSteps(t *testing.T) {
	v := newVocabulary(t)
	for _, c := range []struct {
		grammar, text string
		drafts        string
	}{
		{"ab*c", "a", "bbc"}, // to the end of the text
		{"ab*c", "a", "bbcb"},
		{"ab*c", "a", "bxc"}, // x is not allowed
		{"ab*c", "", ""},
		{"(true|tr.)x", "", "trux"},
	} {
		m, steps := newMatcher(t, v, Grammar{Regex: c.grammar}), newMatcher(t, v, Grammar{Regex: c.grammar})
		push(t, m, c.text)
		push(t, steps, c.text)
		var drafts []int32
		for _, b := range []byte(c.drafts) {
			drafts = append(drafts, int32(b))
		}
		rows, words := len(drafts)+1, m.Words()
		want := make([]uint32, rows*words)
		for i := range want {
			want[i] = ^uint32(0)
		}
		walked := 0
		for i := range rows {
			row := want[i*words : (i+1)*words]
			if err := steps.Mask(row); err != nil {
				t.Fatal(err)
			}
			if i == len(drafts) || row[drafts[i]/32]>>(drafts[i]%32)&1 == 0 {
				break
			}
			if err := steps.Accept(drafts[i]); err != nil {
				t.Fatal(err)
			}
			if walked++; steps.Stopped() {
				break
			}
		}
		if err := steps.Rollback(walked); err != nil {
			t.Fatal(err)
		}
		for from := range min(walked, rows-1) + 1 {
			got := make([]uint32, (rows-from)*words)
			if err := m.Walk(drafts, from, got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want[from*words:]) {
				t.Errorf("%s after %q, drafts %q from %d: other masks than step by step", c.grammar,
					c.text, c.drafts, from)
			}
		}
		if !slices.Equal(allowed(t, m), allowed(t, steps)) {
			t.Errorf("%s: the walk has moved the text", c.grammar)
		}
	}
	m := newMatcher(t, v, Grammar{Regex: "a"})
	if err := m.Walk([]int32{1 << 20}, 0, make([]uint32, 2*m.Words())); err == nil {
		t.Error("a draft outside of the vocabulary was taken")
	}
}

func TestVocabularyWithWrongSizesIsRefused(t *testing.T) {
	one := func(int32) ([]byte, bool) { return []byte("a"), false }
	for _, eos := range [][]int32{nil, {1}, {-1}} {
		if v, err := NewVocabulary(1, one, eos, NewLane()); err == nil {
			v.Close()
			t.Errorf("eos %d of one token was accepted", eos)
		}
	}
}

func TestMatchersOutliveTheirVocabulary(t *testing.T) {
	v, err := NewVocabulary(len(vocabulary), token, []int32{endToken}, NewLane())
	if err != nil {
		t.Fatal(err)
	}
	m, err := v.Matcher(t.Context(), Grammar{Regex: "ab"})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	push(t, m, "a")
	if got := spell(allowed(t, m)); got != "b" {
		t.Errorf("without its vocabulary %q may follow", got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if m.Close() == nil || v.Close() == nil {
		t.Error("a second Close gave no error")
	}
	if _, err := v.Matcher(t.Context(), Grammar{Regex: "a"}); err == nil {
		t.Error("a closed vocabulary makes matchers")
	}
}

// Any text compiles as a grammar or is refused. A matcher accepts every token that it allows.
func FuzzGrammar(f *testing.F) {
	f.Add(`{"type":"object"}`, "", "")
	f.Add("", "start: \"a\" b\nb: /[0-9]+/ | <call>", "")
	f.Add("", "", `[a-z]+(\d|é)*`)
	v, err := NewVocabulary(len(vocabulary), token, []int32{endToken}, NewLane())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, schema, lark, regex string) {
		g := Grammar{Lark: lark, Regex: regex}
		if json.Valid([]byte(schema)) {
			g.JSON = json.RawMessage(schema)
		}
		m, err := v.Matcher(t.Context(), g)
		if err != nil {
			return
		}
		defer m.Close()
		bits := make([]uint32, m.Words())
		for i := 0; i < 20 && !m.Stopped(); i++ {
			if err := m.Mask(bits); err != nil {
				return // a limit
			}
			ids := allowed(t, m)
			if len(ids) == 0 {
				t.Fatalf("no token may follow, not even the end: %+v", g)
			}
			if err := m.Accept(ids[i*7919%len(ids)]); err != nil {
				t.Fatalf("%+v does not accept what it allows: %v", g, err)
			}
		}
	})
}
