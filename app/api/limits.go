package api

import (
	"slices"
	"strconv"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// shortenIt begins what to do about a prompt that is too long.
const shortenIt = "Please shorten it"

// ContextError returns an error in the words that clients search for when they decide to compact.
// atLeast comes before the number of tokens: "at least " if only a lower bound is known.
func ContextError(param string, m model.Model, atLeast string, tokens int) error {
	limit, got, advice := m.ContextLength(), atLeast+strconv.Itoa(tokens), shortenIt+"."
	if m.LongerContext(tokens) {
		advice = shortenIt + ", or set a larger context in the model's settings."
	}
	e := control.Errorf(control.Code(engine.CodeContextLength),
		"This model's maximum context length is %d tokens. However, you requested %s tokens in "+
			"the prompt. %s",
		limit, control.Word(got), control.Word(advice))
	e.Param, e.Err = param, &wire.Overlong{Limit: limit, Got: got}
	return e
}

// CheckLength refuses a text of n bytes that cannot fit the context. It is called before the text
// is tokenized, which takes time and memory in proportion.
func CheckLength(m model.Model, param string, n int) error {
	longest := m.Tokenizer().LongestToken()
	if n > m.ContextLength()*longest {
		return ContextError(param, m, "at least ", (n+longest-1)/longest)
	}
	return nil
}

// checkIDs refuses ids that the model does not know. The error says that who holds them.
func checkIDs(m model.Model, param, who string, ids []int32) error {
	i := slices.IndexFunc(ids, func(id int32) bool { return int(id) >= m.VocabSize() })
	if i < 0 {
		return nil
	}
	return wire.Invalid(param,
		"%s holds the token %q, whose id %d the model %s does not know: its ids are below %d. "+
			"Leave the token out.",
		control.Word(who), m.Tokenizer().TokenBytes(ids[i]), ids[i], control.Word(m.ID()), m.VocabSize())
}
