package api

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tandem/app/model"
	"tandem/app/modeltest"
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
