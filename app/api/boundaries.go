package api

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"tandem/app/model"
)

// boundaryTime bounds the search for all boundaries of a prompt. They save time later, so a template
// that takes long for a part of a conversation gets no more of it.
const boundaryTime = 2 * time.Second

// boundaries returns the positions of a chat's prompt at which other prompts are likely to go on
// differently, ascending:
//
//   - after the system's messages and the tools there: a new chat begins there;
//   - before the last message, which may be sent again in other words;
//   - after the last message, before the beginning of the answer.
//
// A template may write a message in one way while it is the last, and in another way later. So a
// boundary is where the tokens of the messages up to it cease to be those of the whole.
func (c *Conversation) boundaries(ctx context.Context, m model.Model, ids []int32) []int {
	ctx, cancel := context.WithTimeout(ctx, boundaryTime)
	defer cancel()
	counts := []int{len(c.Messages) - 1, len(c.Messages)}
	if n := c.system(); n > 0 && n < counts[0] {
		counts = append([]int{n}, counts...)
	}
	var list []int
	chat := c.chat(m)
	for _, n := range counts {
		if n == 0 {
			continue
		}
		// Some templates refuse a part of a conversation.
		text, err := chat.Render(ctx, c.Vars(c.Messages[:n], false, chat.History()))
		if err != nil {
			continue
		}
		part, err := m.Tokenizer().Encode(text, false)
		if err != nil {
			continue
		}
		at := sharedTokens(part, ids)
		if at > 0 && (list == nil || at > list[len(list)-1]) {
			list = append(list, at)
		}
	}
	return list
}

// newFrom returns where in the prompt the messages after the last answer begin, or -1 if the template
// does not tell.
func (c *Conversation) newFrom(ctx context.Context, m model.Model, ids []int32) int {
	ctx, cancel := context.WithTimeout(ctx, boundaryTime)
	defer cancel()
	list := slices.Clone(c.Messages)
	end := len(list)
	if c.begun != "" { // the last message is the answer, which goes on
		end--
	}
	at := end
	for at > c.system() && list[at-1].Role != "assistant" {
		at--
	}
	if at == end {
		return -1
	}
	mark := rand.Text()
	list[at].Texts = []string{mark + list[at].Text()}
	chat := c.chat(m)
	text, err := chat.Render(ctx, c.Vars(list, c.begun == "", chat.History()))
	before, _, found := strings.Cut(text, mark)
	if err != nil || !found {
		return -1
	}
	part, err := m.Tokenizer().Encode(before, false)
	if err != nil {
		return -1
	}
	return sharedTokens(part, ids)
}

// sharedTokens returns how many tokens two texts begin with.
func sharedTokens(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// system returns how many messages at the start are the system's.
func (c *Conversation) system() int {
	n := slices.IndexFunc(c.Messages, func(m Message) bool { return m.Role != "system" })
	if n < 0 {
		return len(c.Messages)
	}
	return n
}
