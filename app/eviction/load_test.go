package eviction

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

const gib = 1 << 30

// linear is a model whose context takes row bytes per token.
type linear struct{ weights, row int64 }

func (f linear) Bytes(context int) (weights, cache int64) {
	return f.weights, f.row * int64(context)
}

// small is a model of 2 GiB whose 1,024 tokens take 1 GiB.
var small = Size{Context: 1024, Bytes: linear{2 * gib, 1 << 20}.Bytes}

// long is a model of 2 GiB whose 64k tokens take 8 GiB.
var long = Size{Context: 64 << 10, Bytes: linear{2 * gib, 128 << 10}.Bytes}

// now is when plans are made.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// holding returns a model of 3 GiB in memory.
func holding(id string, change ...func(*Model)) Model {
	m := Model{ID: id, Need: small.need(1024), LoadTime: time.Second, Used: now.Add(-time.Minute)}
	for _, c := range change {
		c(&m)
	}
	return m
}

func used(m *Model)                       { m.Users = 1 }
func kept(m *Model)                       { m.Kept = true }
func unused(d time.Duration) func(*Model) { return func(m *Model) { m.Used = now.Add(-d) } }
func loadTime(d time.Duration) func(*Model) {
	return func(m *Model) { m.LoadTime = d }
}

// describe writes "-a" for each model to unload.
func describe(unload []string) string {
	var words []string
	for _, id := range unload {
		words = append(words, "-"+id)
	}
	return strings.Join(words, " ")
}

// The eviction rule of the package's comment, row by row. Models may take rooms of 3 GiB each; an
// idle model that is named first in a row is worth as much as the others.
func TestEvictionRule(t *testing.T) {
	chosen := func(id string) Want { return Want{ID: id, Size: small, Current: true} }
	request := func(id string) Want { return Want{ID: id, Size: small} }
	replacing := func(id, old string) Want {
		return Want{ID: id, Size: small, Current: true, Replaces: old}
	}
	longer := func(w Want) Want { w.Size = long; return w }
	asked := func(w Want, tokens int) Want { w.Asked = tokens; return w }
	const beside, replace, never = control.LoadBeside, control.LoadReplace, control.LoadNever
	for _, c := range []struct {
		name    string
		load    control.LoadOnRequest
		rooms   int64 // of 3 GiB
		current string
		models  []Model
		want    Want
		plan    string       // see describe; then "+b" with its context
		code    control.Code // of the refusal
		says    string       // part of it
	}{
		{"there is room", beside, 2, "a", []Model{holding("a")}, request("b"), "+b 1k", "", ""},
		{"idle models go", beside, 2, "c", []Model{holding("a"), holding("c")}, request("b"), "-a +b 1k", "", ""},
		{"the longest unused goes first", beside, 3, "c", []Model{holding("a"), holding("d", unused(time.Hour)), holding("c")}, request("b"), "-d +b 1k", "", ""},
		{"the soonest loaded goes first", beside, 3, "c", []Model{holding("a", loadTime(9*time.Second)), holding("d"), holding("c")}, request("b"), "-d +b 1k", "", ""},
		{"no more than needed", beside, 3, "", []Model{holding("a"), holding("d"), holding("e")}, request("b"), "-a +b 1k", "", ""},
		{"none in vain", beside, 4, "", []Model{holding("a", used), holding("d")}, asked(longer(request("b")), 64<<10), "", control.CodeNotLoaded, "a (3 GiB, answering requests)"},
		{"used models stay", beside, 2, "", []Model{holding("a", used), holding("d", used)}, request("b"), "", control.CodeNotLoaded, "ask for a or d"},
		{"kept models stay", beside, 1, "", []Model{holding("a", kept)}, request("b"), "", control.CodeNotLoaded, "set to stay"},
		{"the current model stays", beside, 1, "a", []Model{holding("a")}, request("b"), "", control.CodeNotLoaded, "the current model"},
		{"a context is cut before an idle model goes", beside, 4, "", []Model{holding("a")}, longer(request("b")), "+b 43k", "", ""},
		{"until an agent can work with what is left of it", beside, 3, "", []Model{holding("a"), holding("d")}, longer(request("b")), "-a -d +b 43k", "", ""},
		{"but not one that a person set", beside, 4, "", []Model{holding("a")}, asked(longer(request("b")), 60<<10), "-a +b 60k", "", ""},

		{"for the current model idle ones go before its context is cut", beside, 4, "b", []Model{holding("a")}, longer(chosen("b")), "-a +b 64k", "", ""},
		{"for the current model used ones go after their answers", beside, 1, "b", []Model{holding("a", used)}, chosen("b"), "-a +b 1k", "", ""},
		{"and idle ones first", beside, 2, "b", []Model{holding("a", used), holding("d")}, chosen("b"), "-d +b 1k", "", ""},
		{"and kept ones last", beside, 2, "b", []Model{holding("a", kept), holding("d", used)}, chosen("b"), "-d +b 1k", "", ""},
		{"a kept one goes too", beside, 1, "b", []Model{holding("a", kept)}, chosen("b"), "-a +b 1k", "", ""},

		{"the next current model replaces it", beside, 2, "a", []Model{holding("a"), holding("d")}, replacing("b", "a"), "-a +b 1k", "", ""},
		{"after its answers", beside, 2, "a", []Model{holding("a", used)}, replacing("b", "a"), "-a +b 1k", "", ""},
		{"a kept one stays while there is room", beside, 2, "a", []Model{holding("a", kept)}, replacing("b", "a"), "+b 1k", "", ""},
		{"its changed files take its place, kept or not", beside, 2, "a", []Model{holding("a", kept)}, replacing("a", "a"), "-a +a 1k", "", ""},
		{"changed files take the place of the old", beside, 2, "c", []Model{holding("b"), holding("c")}, request("b"), "-b +b 1k", "", ""},
		{"unless these are used", beside, 2, "c", []Model{holding("b", used), holding("c")}, request("b"), "", control.CodeModelBusy, "b has changed"},

		{"replace: all others go", replace, 9, "c", []Model{holding("a"), holding("c")}, request("b"), "-a -c +b 1k", "", ""},
		{"replace: a used one refuses", replace, 9, "c", []Model{holding("a", used), holding("c")}, request("b"), "", control.CodeModelBusy, "a is answering requests"},
		{"replace: the current model waits", replace, 9, "b", []Model{holding("a", used)}, chosen("b"), "-a +b 1k", "", ""},
		{"never: a request loads none", never, 9, "a", []Model{holding("a")}, request("b"), "", control.CodeNotLoaded, "load_on_request is never"},
		{"never: changed files may", never, 9, "a", []Model{holding("a"), holding("b")}, request("b"), "-b +b 1k", "", ""},
		{"never: the current model is loaded", never, 9, "b", []Model{holding("a")}, chosen("b"), "+b 1k", "", ""},

		{"too large for this machine", beside, 1, "a", nil, asked(longer(request("b")), 64<<10), "", control.CodeMemory, "Give it a shorter context"},
		{"too large, but loaded always", beside, 1, "", []Model{holding("a")}, Want{ID: "b", Size: Size{Context: 1024, Bytes: linear{9 * gib, 1}.Bytes}, Always: true}, "-a +b 1k", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := State{Now: now, LoadOnRequest: c.load, Current: c.current, Models: c.models,
				Limits: Limits{Memory: c.rooms * 4 * gib}}
			if s.Memory < 8*gib {
				s.Memory = c.rooms*3*gib + systemBytes
			}
			if got := s.Room(); got != c.rooms*3*gib {
				t.Fatalf("the room is %d bytes, want %d", got, c.rooms*3*gib)
			}
			n, unload, err := s.Load(c.want)
			got := describe(unload)
			if err == nil {
				got = strings.TrimSpace(fmt.Sprintf("%s +%s %dk", got, c.want.ID, n.Context>>10))
			}
			if got != c.plan {
				t.Errorf("plan %q, want %q", got, c.plan)
			}
			e, _ := errors.AsType[*control.Error](err)
			switch {
			case (e != nil) != (c.code != ""):
				t.Errorf("error %v, want code %q", err, c.code)
			case e != nil && (e.Code != c.code || !strings.Contains(e.Message, c.says)):
				t.Errorf("error %s %q, want %s with %q", e.Code, e.Message, c.code, c.says)
			}
		})
	}
}

// victims evicts by priority, then by worth, and takes back what turns out not to be needed.
func TestVictimsAreTheLeastValuableAndNoneInVain(t *testing.T) {
	idle := func(bytes int64, load, unused time.Duration) claim {
		return claim{bytes: bytes, value: worth(load, unused)}
	}
	const second, minute = time.Second, time.Minute
	for _, c := range []struct {
		name   string
		claims []claim
		most   priority
		room   int64
		need   int64
		want   string
		ok     bool
	}{
		{"there is room", []claim{idle(4, second, minute)}, priorityIdle, 10, 6, "[]", true},
		{"nothing is there", nil, priorityIdle, 10, 10, "[]", true},
		{"too much", nil, priorityIdle, 10, 11, "[]", false},
		{"the longest unused", []claim{idle(4, second, minute), idle(4, second, 2*minute)}, priorityIdle, 10, 6, "[1]", true},
		{"the soonest loaded", []claim{idle(4, 9*second, minute), idle(4, 8*second, minute)}, priorityIdle, 10, 6, "[1]", true},
		{"used less long ago, but sooner loaded", []claim{idle(4, 10*second, 3*minute), idle(4, 2*second, minute)}, priorityIdle, 10, 6, "[1]", true},
		{"both", []claim{idle(4, second, minute), idle(4, second, 2*minute)}, priorityIdle, 10, 7, "[1 0]", true},
		{"a little one in vain", []claim{idle(1, second, 2*minute), idle(8, second, minute)}, priorityIdle, 10, 6, "[1]", true},
		{"one is in use", []claim{{bytes: 4, priority: priorityUsed}, idle(4, second, minute)}, priorityIdle, 10, 6, "[1]", true},
		{"all are in use", []claim{{bytes: 4, priority: priorityUsed}}, priorityIdle, 10, 7, "[]", false},
		{"all are in use, but the current model comes", []claim{{bytes: 4, priority: priorityUsed}}, priorityUsed, 10, 7, "[0]", true},
		{"idle ones before those in use", []claim{{bytes: 4, priority: priorityUsed}, {bytes: 4, value: 9}}, priorityUsed, 10, 6, "[1]", true},
		{"kept", []claim{{bytes: 4, priority: priorityKept}}, priorityUsed, 10, 7, "[]", false},
		{"the current model", []claim{{bytes: 4, priority: priorityCurrent}}, priorityKept, 10, 7, "[]", false},
	} {
		evicted, ok := victims(c.claims, c.most, c.room,
			func(room int64) bool { return room >= c.need })
		if got := fmt.Sprint(evicted); got != c.want || ok != c.ok {
			t.Errorf("%s: %s, %t; want %s, %t", c.name, got, ok, c.want, c.ok)
		}
	}
}
