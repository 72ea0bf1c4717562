package draft

import (
	"strings"
	"testing"
)

// decode generates output with drafts of at most n tokens and counts rounds.
func decode(d *NgramDraft, prompt, output []int32, n int) (rounds int) {
	history := append(append([]int32{}, prompt...), output...)
	for at := len(prompt); at < len(history); rounds++ {
		for _, t := range d.propose(history[:at], n) {
			if at+1 >= len(history) || t != history[at] {
				break
			}
			at++
		}
		at++
	}
	return rounds
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
		d := newNgramDraft(Options{Prompt: ids("??"), Prediction: ids(code)})
		rounds := decode(d, ids("??"), ids(c.output), 8)
		t.Logf("%s: %d rounds for %d tokens", c.name, rounds, len(c.output))
		if rounds > c.rounds {
			t.Errorf("%s: %d rounds for %d tokens, want at most %d", c.name, rounds, len(c.output), c.rounds)
		}
	}
}

func TestPredictionThatIsWrong(t *testing.T) {
	d := newNgramDraft(Options{Prediction: ids("abcdefghijklmnopqrstuvwxyz")})
	output := ids("0123456789!$%&/()=?+*#-_.:;,<>|")
	if rounds := decode(d, nil, output, 8); rounds != len(output) {
		t.Errorf("%d rounds for %d tokens", rounds, len(output))
	}
	accepted, rejected := d.Predicted(output)
	if accepted != 0 || rejected == 0 || rejected > 8*(maxReplaced+1) {
		t.Errorf("%d accepted and %d rejected; a wrong prediction is given up", accepted, rejected)
	}
}

func TestPredictedCounts(t *testing.T) {
	d := newNgramDraft(Options{Prompt: ids("xy"), Prediction: ids("abcdef")})
	for _, c := range []struct {
		history            string
		n                  int
		accepted, rejected int
	}{
		{"xy", 4, 0, 4},       // abcd offered, nothing came yet
		{"xyabcd", 4, 4, 0},   // all right, and ef offered
		{"xyabcdeX", 4, 5, 1}, // e
	} {
		if c.history != "xy" {
			if a, r := d.Predicted(ids(c.history)); a != c.accepted || r != c.rejected {
				t.Errorf("after %q %d accepted and %d rejected, want %d and %d", c.history, a, r, c.accepted, c.rejected)
			}
		}
		d.propose(ids(c.history), c.n)
	}
}
