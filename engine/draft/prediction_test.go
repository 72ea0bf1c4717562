package draft

import (
	"strings"
	"testing"
)

// decode generates output with drafts of at most n tokens and counts rounds. Lookups draft where
// the prediction has no tokens.
func decode(d *PredictionDraft, prompt, output []int32, n int) (rounds int) {
	history := append(append([]int32{}, prompt...), output...)
	lookups := newNgramDraft()
	for at := len(prompt); at < len(history); rounds++ {
		tokens := d.propose(history[:at], n)
		if len(tokens) == 0 {
			tokens = lookups.Preview(history[:at], n)
		}
		for _, t := range tokens {
			if at+1 >= len(history) || t != history[at] {
				break
			}
			at++
		}
		at++
	}
	return rounds
}

func open(o Options) *PredictionDraft {
	d, _ := Prediction{}.Open(nil, o)
	return d.(*PredictionDraft)
}

func TestPredictionFollowsEdits(t *testing.T) {
	code := "func Sum(list []int) int {\n\tcount := 0\n\tfor _, x := range list {\n\t\tcount += x\n\t}\n\treturn count\n}\n"
	for _, c := range []struct {
		name, output string
		rounds       int // at most, with 8 drafts
	}{
		{"the same", code, len(code)/9 + 1},
		{"one token replaced", strings.Replace(code, ":= 0", ":= 1", 1), len(code)/9 + 2},
		{"a name replaced by a longer one", strings.ReplaceAll(code, "count", "the_total"), 33},
		{"a line inserted", strings.Replace(code, "\tfor", "\tdefer print()\n\tfor", 1), len(code)/9 + 19},
		{"a line left out", strings.Replace(code, "\tcount := 0\n", "", 1), len(code)/9 + 6},
		{"begins elsewhere", code[40:], len(code)/9 + 4},
		{"goes on after it", code + "zyxwvut", len(code)/9 + 9},
	} {
		d := open(Options{Prompt: ids("??"), Prediction: ids(code)})
		rounds := decode(d, ids("??"), ids(c.output), 8)
		t.Logf("%s: %d rounds for %d tokens", c.name, rounds, len(c.output))
		if rounds > c.rounds {
			t.Errorf("%s: %d rounds for %d tokens, want at most %d",
				c.name, rounds, len(c.output), c.rounds)
		}
	}
}

func TestWrongPredictionIsGivenUp(t *testing.T) {
	d := open(Options{Prediction: ids("abcdefghijklmnopqrstuvwxyz")})
	output := ids("0123456789!$%&/()=?+*#-_.:;,<>|")
	if rounds := decode(d, nil, output, 8); rounds != len(output) {
		t.Errorf("%d rounds for %d tokens", rounds, len(output))
	}
	accepted, rejected := d.Predicted(output)
	if accepted != 0 || rejected == 0 || rejected > 8*(maxReplaced+1) {
		t.Errorf("%d accepted and %d rejected; a wrong prediction is given up", accepted, rejected)
	}
}

func TestPredictedTokensAreCounted(t *testing.T) {
	d := open(Options{Prompt: ids("xy"), Prediction: ids("abcdef")})
	for _, c := range []struct {
		history            string
		n                  int
		accepted, rejected int
	}{
		{"xy", 4, 0, 4},       // abcd offered, no token came yet
		{"xyabcd", 4, 4, 0},   // all four are right, and ef is offered
		{"xyabcdeX", 4, 5, 1}, // e
	} {
		if c.history != "xy" {
			if a, r := d.Predicted(ids(c.history)); a != c.accepted || r != c.rejected {
				t.Errorf("after %q %d accepted and %d rejected, want %d and %d",
					c.history, a, r, c.accepted, c.rejected)
			}
		}
		d.propose(ids(c.history), c.n)
	}
}

func TestRequestWithoutPredictionHasNoDraft(t *testing.T) {
	if d, err := (Prediction{}).Open(nil, Options{Prompt: ids("abcabc")}); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// For any history, a proposal is a part of the prediction, and every proposed token is counted.
func FuzzPrediction(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaa"), []byte("aaab"), uint8(31), uint8(1))
	f.Add([]byte("the cat sat on the cat mat"), []byte("the cat sat off"), uint8(8), uint8(0))
	f.Fuzz(func(t *testing.T, bytes, expected []byte, n, prompt uint8) {
		history, prediction := ids(string(bytes)), ids(string(expected))
		o := Options{Prompt: history[:min(int(prompt), len(history))], Prediction: prediction}
		if len(prediction) == 0 {
			return
		}
		d := open(o)
		proposed := 0
		for end := len(o.Prompt); end <= len(history); end += 1 + int(n)%3 {
			h := history[:end]
			got := d.propose(h, 1+int(n))
			if len(got) > 1+int(n) {
				t.Fatalf("%d tokens, asked for %d", len(got), 1+int(n))
			}
			if len(got) > 0 && !follows(prediction, nil, got, 0) {
				t.Fatalf("after %q: %q is not predicted", text(h), text(got))
			}
			proposed += len(got)
		}
		if a, r := d.Predicted(history); a+r != proposed {
			t.Fatalf("%d accepted and %d rejected of %d", a, r, proposed)
		}
	})
}
