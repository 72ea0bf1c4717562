package api

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/modeltest"
	"tandem/engine"
)

// A partsForever is a model whose template never ends with a part of a conversation.
type partsForever struct{ *modeltest.Fake }

func (m partsForever) Chat(tools bool) model.Chat { return foreverChat{m.Fake.Chat(tools)} }

type foreverChat struct{ model.Chat }

func (c foreverChat) Render(ctx context.Context, vars []byte) (string, error) {
	if !bytes.Contains(vars, []byte("add_generation_prompt")) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return c.Chat.Render(ctx, vars)
}

// A template may be quick with a whole conversation, and endless with each part of it.
func TestEndlessPartsOfAConversationCostTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := partsForever{&modeltest.Fake{Template: modeltest.Template, Context: 1000}}
		c := Conversation{Messages: []Message{NewMessage("system", "a"), NewMessage("user", "b"),
			NewMessage("assistant", "c"), NewMessage("user", "d")}}
		start := time.Now()
		prompts, err := c.Prompts(t.Context(), m)
		if err != nil || len(prompts) != 1 || len(prompts[0].IDs) == 0 {
			t.Fatalf("%v, %v", prompts, err)
		}
		if took := time.Since(start); took > boundaryTime {
			t.Errorf("the prompt took %v", took)
		}
	})
}

// What was said since the last answer begins with the first question, or after an answer with the
// results of its calls or with the next question.
func TestNewMessagesBeginAfterTheLastAnswer(t *testing.T) {
	system, ask, answer := NewMessage("system", "a"), NewMessage("user", "b"),
		NewMessage("assistant", "c")
	result, next := NewMessage("tool", "d"), NewMessage("user", "e")
	for _, x := range []struct {
		name   string
		list   []Message
		begun  string
		before string // in the prompt
	}{
		{"a first question", []Message{system, ask}, "", "sa\nu"},
		{"nothing before it", []Message{ask}, "", "u"},
		{"a next question", []Message{system, ask, answer, next}, "", "sa\nub\nac\nu"},
		{"results", []Message{ask, answer, result, result, next}, "", "ub\nac\nt"},
		{"an answer that goes on", []Message{system, ask, answer}, "c", "sa\nu"},
	} {
		m := &modeltest.Fake{Template: modeltest.Template, Context: 1000}
		c := Conversation{Messages: x.list, begun: x.begun}
		_, ids, err := c.encodedOnce(t.Context(), m)
		if err != nil {
			t.Fatal(x.name, err)
		}
		if at := c.newFrom(t.Context(), m, ids); at < 0 || m.Decode(ids[:at]) != x.before {
			t.Errorf("%s: from %d of %q, want after %q", x.name, at, m.Decode(ids), x.before)
		}
	}
	c := Conversation{Messages: []Message{ask, answer}}
	if at := c.newFrom(t.Context(), &modeltest.Fake{Template: modeltest.Template}, nil); at != -1 {
		t.Errorf("after the last answer nothing was said, but that begins at %d", at)
	}
}

// A prompt that parts in its new messages has changed nothing before them. One that parts earlier
// has.
func TestDivergenceSaysWhetherOnlyNewMessagesDiffer(t *testing.T) {
	m := &modeltest.Fake{Template: modeltest.Template, Context: 1000}
	talk := &Conversation{Messages: []Message{NewMessage("system", "long"), NewMessage("user", "b")}}
	_, ids, err := talk.encodedOnce(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		at     int
		answer bool
		talk   *Conversation
		want   bool
	}{
		{len("slong\nu"), false, talk, true}, {len("slong\nub"), false, talk, true},
		{len("slo"), false, talk, false}, {len("slong\nu"), true, talk, false},
		{len("slong\nu"), false, nil, false},
	} {
		c := Choice{Prompt: &Prompt{IDs: ids, conversation: x.talk}}
		c.Stats.Matched = x.at
		c.Stats.Divergence = &engine.Divergence{Kept: 'k', Given: 'g', Answer: x.answer, Run: 7}
		want := control.Divergence{At: x.at, Kept: "k", Given: "g", Answer: x.answer, New: x.want, Run: 7}
		if got := *c.describeDivergence(t.Context(), m); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
