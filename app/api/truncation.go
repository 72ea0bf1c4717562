package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
)

// truncated returns the prompt without the earliest turns, so many that it leaves room for the answer.
// It returns false, and changes nothing, if no cut is enough for the prompt to fit.
func (c *Conversation) truncated(ctx context.Context, m model.Model) (text string, ids []int32, ok bool) {
	given, cuts := c.Messages, c.cuts()
	// try returns whether a cut is enough.
	try := func(i int) bool {
		c.Messages = cuts[i].of(given)
		var err error
		text, ids, err = c.encodedOnce(ctx, m)
		return err == nil && c.leavesRoom(m, len(ids))
	}
	// A longer cut leaves a shorter prompt.
	at := sort.Search(len(cuts), try)
	if at == len(cuts) { // the longest cut may fit all the same
		at--
	}
	if at < 0 || !try(at) && (ids == nil || len(ids) >= m.ContextLength()) {
		c.Messages = given
		return "", nil, false
	}
	c.LeftOut = append(c.LeftOut, fmt.Sprintf("%d of %d messages had to be left out, the oldest first: the context "+
		"has no room for all", len(given)-len(cuts[at].of(given)), len(given)))
	return text, ids, true
}

// cannotTruncate returns the error of a prompt that is too long whatever turns are left out.
func (c *Conversation) cannotTruncate(err error) error {
	e, ok := errors.AsType[*control.Error](err)
	if !ok {
		return err
	}
	var parts control.Words // of what stays
	if c.Tools.List != nil {
		parts = append(parts, "the tools")
	}
	if slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role == "system" }) {
		parts = append(parts, "the system message")
	}
	parts = append(parts, "the last turn")
	are := "together are"
	if len(parts) == 1 {
		are = "is"
	}
	advised := *e
	for _, text := range []*string{&advised.Message, &advised.Record} {
		*text = strings.Replace(*text, shortenIt,
			fmt.Sprintf("Please shorten %s, which %s too long even without earlier turns", parts, are), 1)
	}
	return &advised
}

// isTooLong reports whether a prompt is refused for its length, or leaves no token to the answer.
func isTooLong(m model.Model, ids []int32, err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.Code(engine.CodeContextLength) || err == nil && len(ids) >= m.ContextLength()
}

// A cut leaves messages out at the beginning of a conversation, except the system's. What is left begins
// with a user's message, and has the call of each result.
type cut struct {
	question int // the message of the user that stays before from; -1 for none
	from     int // the first other message that stays
}

// of returns the messages that a cut leaves.
func (t cut) of(given []Message) (list []Message) {
	for i, m := range given {
		if i >= t.from || i == t.question || m.Role == "system" {
			list = append(list, m)
		}
	}
	return list
}

// cuts returns where the conversation can be cut, the shortest cut first: before each message of the
// user, and then, as an agent works on its last task for long, before each answer after the last of
// these, which stays.
func (c *Conversation) cuts() (list []cut) {
	owners := c.resultOwners()
	last := -1
	for i, m := range c.Messages {
		if m.Role == "user" {
			last = i
		}
	}
	before, left := 0, 0 // messages that are not the system's: before this one, and left out by the last cut
	for i, m := range c.Messages {
		if m.Role == "system" {
			continue
		}
		t, out, starts := cut{-1, i}, before, m.Role == "user"
		if last >= 0 && i > last {
			t, out, starts = cut{last, i}, before-1, m.Role == "assistant"
		}
		if starts && owners[i] >= i && out > left {
			list, left = append(list, t), out
		}
		before++
	}
	return list
}

// resultOwners returns for each message the first message that it, or one after it, needs: a result needs
// the answer with its call.
func (c *Conversation) resultOwners() []int {
	owners, calls := make([]int, len(c.Messages)), map[string]int{}
	for i, m := range c.Messages {
		owners[i] = i
		for _, raw := range m.Calls {
			call, _ := readCall(raw)
			calls[unquote(call.Get("id"))] = i
		}
		if m.Role == "tool" {
			if at, ok := calls[m.unquoted(resultIDName)]; ok {
				owners[i] = at
			}
		}
	}
	for i := range slices.Backward(owners) {
		if i+1 < len(owners) {
			owners[i] = min(owners[i], owners[i+1])
		}
	}
	return owners
}
