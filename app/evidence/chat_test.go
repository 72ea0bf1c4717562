package evidence

import (
	"slices"
	"strings"
	"testing"
)

// TestChatsShowWhatRan plants one violation of each rule of chats.
func TestChatsShowWhatRan(t *testing.T) {
	own := chatReport(true, sample(), sample(), sample())
	foreign := map[string]any{"kind": KindMacChat, "schema_version": 1, "f_theta_intended": true,
		"fallbacks_taken": []any{}, "turns": []any{
			map[string]any{"blocks": 2, "f_theta_ran": true, "text": "Paris.", "fallbacks_taken": []any{}},
			map[string]any{"blocks": 4, "f_theta_ran": true, "text": "Rome.", "fallbacks_taken": []any{}}}}
	idle := chatReport(false, sample())
	for _, p := range []plant{
		{MissingLiveness, own, "turns", []any{}, nil},
		{MissingLiveness, own, "turns[1].blocks", deleted, nil},
		{MissingLiveness, own, "turns[1].restored_rows", deleted, nil},
		{MissingLiveness, own, "turns[1].text", deleted, nil},
		{MissingLiveness, idle, "f_theta_intended", deleted, nil},
		{MissingLiveness, foreign, "turns[1].f_theta_ran", nil, nil},
		{ProposerNeverRan, idle, "turns[0].blocks", 0, nil},
		{FThetaNotRun, own, "turns[2].restored_rows", 0, nil}, // f_theta_ran still says true
		{FThetaNotRun, foreign, "turns[0].f_theta_ran", false, nil},
		{SilentFallback, foreign, "fallbacks_taken", []any{"proposer->ar"}, nil},
		{SilentFallback, foreign, "turns[1].fallbacks_taken", []any{"f_theta->identity"}, nil},
		{OutputDegenerate, foreign, "turns[0].text", "The core is " + strings.Repeat("so ", 90), nil},
		{OutputDegenerate, own, "turns[0].text", strings.Repeat("* * *\n\n", 8), nil},
	} {
		if !p.check(t) {
			t.Errorf("%s = %v is not caught", p.path, p.value)
		}
	}
}

// TestOnlyLoopsAreDegenerate has the ends of each bound.
func TestOnlyLoopsAreDegenerate(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{strings.Repeat("*   *   *\n", 8), true},
		{strings.Repeat("*   *   *\n", 7) + "done", false},
		{strings.Repeat("123456789012\n", 8) + "then it goes on", true},
		{strings.Repeat("1234567890123\n", 8) + "a line longer than 12", false},
		{"x\n\ny\nx\ny\nx\ny\nx\ny\nx\ny", false},
		{"core: " + strings.Repeat("由于", 8), true},
		{"core: " + strings.Repeat("由于", 7), false},
		{"a" + strings.Repeat("12345678", 8), true},
		{"a" + strings.Repeat("123456789", 20), false},
		{strings.Repeat("a", 16), true},
		{"b" + strings.Repeat("a", 15), false},
		{strings.Repeat("a", 40) + " ends here", false},
		{"", false},
		{"miner A: Hash(1) = 0xabc\nminer B: Hash(2) = 0xdef\nminer C: Hash(999) = 0x000", false},
		{strings.Repeat("Proof of work is a consensus mechanism. ", 60), false},
	} {
		if got := degenerate(c.text); got != c.want {
			t.Errorf("degenerate(%.60q) = %t", c.text, got)
		}
	}
}

// TestRepeatsAreCounted has texts that repeat, and texts that a drafter finds no easier than others.
func TestRepeatsAreCounted(t *testing.T) {
	const line, table = "    print(counter + 1)\n", "| name | size |\n| --- | --- |\n" +
		"| first | 12 |\n| second | 7 |\n| third | 640 |\n| fourth | 3 |\n| fifth | 81 |\n"
	const class = `class RingBuffer:
    def __init__(self, size):
        self.size = size
        self.items = [None] * size
        self.head = 0
        self.count = 0

    def append(self, item):
        self.items[self.head] = item
        self.head = (self.head + 1) % self.size
        self.count = min(self.count + 1, self.size)

    def to_list(self):
        start = (self.head - self.count) % self.size
        return [self.items[(start + i) % self.size] for i in range(self.count)]
`
	long := make([]rune, 2*repeatMost)
	for i := range long {
		long[i] = rune(i)
	}
	for _, c := range []struct {
		text string
		want bool
	}{
		{strings.Repeat(line, 12), true},
		{strings.Repeat(line, 4), false}, // short
		{strings.Repeat("Proof of work is a consensus mechanism. ", 60), true},
		{strings.Repeat("工作量证明是一种共识机制,", 20), true},
		{class + strings.Repeat(line, 40), true},
		{string(long) + strings.Repeat("Proof of work is a mechanism. ", repeatMost/30+1), true},
		{strings.Repeat("Proof of work is a mechanism. ", 20) + string(long), false},
		{class, false},
		{class + class, false}, // once more is no loop
		{table, false},
		{strings.Repeat(" ", 1000), false},
		{"", false},
	} {
		if got := repeats(c.text); got != c.want {
			t.Errorf("repeats(%.60q) = %t", c.text, got)
		}
	}
}

// TestChatMayClaimNothingElse gives a chat the claims of an evaluation.
func TestChatMayClaimNothingElse(t *testing.T) {
	tree := asTree(t, chatReport(false, sample()))
	tree["gate"] = map[string]any{"recall_cross_model": 1.0}
	found := codes(Check(written(t, tree)))
	for _, code := range []Code{MissingStageTimings, RecallScope} {
		if !slices.Contains(found, code) {
			t.Errorf("a chat that claims recall breaks %q, not %s", found, code)
		}
	}
}
