package control

import "fmt"

// Amount says in words how much was forgotten, or would be. Texts alone are said without the runs.
func (g Forgotten) Amount() string {
	what := Plural(g.Tokens, "token")
	if g.Runs+g.Checkpoints > 0 || g.Tokens == 0 {
		what = fmt.Sprintf("%s, %s and %s", Plural(g.Runs, "run"),
			Plural(g.Checkpoints, "checkpoint"), what)
	}
	return fmt.Sprintf("%s of the memory of texts, which frees %s", what, ByteSize(g.Bytes))
}
