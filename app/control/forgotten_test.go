package control

import "testing"

// The amount names everything that was forgotten. For texts alone it names their tokens.
func TestForgottenAmountIsSaid(t *testing.T) {
	for want, g := range map[string]Forgotten{
		"1 run, 0 checkpoints and 2 tokens of remembered texts, which frees 3 B":  {Runs: 1, Tokens: 2, Bytes: 3},
		"0 runs, 1 checkpoint and 0 tokens of remembered texts, which frees 3 B":  {Checkpoints: 1, Bytes: 3},
		"0 runs, 0 checkpoints and 0 tokens of remembered texts, which frees 0 B": {},
		"2 tokens of remembered texts, which frees 3 B":                           {Tokens: 2, Bytes: 3},
	} {
		if got := g.Amount(); got != want {
			t.Errorf("%+v is %q, want %q", g, got, want)
		}
	}
}
