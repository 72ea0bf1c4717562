package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tandem/app/figures"
	"tandem/engine/tokenizer"
	"tandem/models"
)

// benchChats are questions to a chat model that no drafter of ours was trained on.
//
//go:embed chats.json
var benchChats []byte

// chatAnswer is how many tokens an answer to a chat has, at most. Most end by themselves before.
const chatAnswer = 256

// The bars for chats: how many times as fast as plain decoding all drafters together make it.
var (
	chatCodeGreedyBar   = figures.Bar{Min: 1.4, Aim: 2.2}
	chatCodeSampledBar  = figures.Bar{Min: 1.15, Aim: 1.6}
	chatProseGreedyBar  = figures.Bar{Min: 1.25, Aim: 1.7}
	chatProseSampledBar = figures.Bar{Min: 1.05, Aim: 1.3}
)

// newChats encodes the questions with the model's template. It returns nil for a model without one.
func newChats(ctx context.Context, b *models.Bundle) (code, prose *Workload, err error) {
	var questions struct{ Code, Prose []string }
	if err := json.Unmarshal(benchChats, &questions); err != nil {
		return nil, nil, fmt.Errorf("chats.json: %w", err)
	}
	if _, err := b.Chat.Template(false); errors.Is(err, models.ErrNoTemplate) {
		return nil, nil, nil
	}
	workloadOf := func(name, doc string, texts []string) *Workload {
		w := &Workload{Name: name, Doc: doc, Limit: chatAnswer, unusable: map[unusable]string{}}
		for i, text := range texts {
			ids, e := AskDirectly(ctx, b, text)
			err = errors.Join(err, e)
			w.Prompts = append(w.Prompts, Prompt{IDs: ids})
			w.Picks = append(w.Picks, i)
		}
		return w
	}
	code = workloadOf("chats on code", "questions and tasks about code, answered in a chat", questions.Code)
	prose = workloadOf("chats on prose", "questions about everything else, answered in a chat",
		questions.Prose)
	return code, prose, err
}

// contentChannel is what the template of Gemma 4 leaves to the model: an empty thought. A direct
// answer begins after it, so that its tokens go into the answer.
const contentChannel = "<|channel>thought\n<channel|>"

// AskDirectly returns the tokens of a prompt that asks for a direct answer: a turn of a chat if the
// model has a template.
func AskDirectly(ctx context.Context, b *models.Bundle, text string) ([]int32, error) {
	special := true
	template, err := b.Chat.Template(false)
	switch {
	case errors.Is(err, models.ErrNoTemplate):
		text += "\nAnswer: "
	case err != nil:
		return nil, err
	default:
		vars, err := json.Marshal(map[string]any{
			"messages":              []map[string]string{{"role": "user", "content": text}},
			"add_generation_prompt": true, "enable_thinking": false,
			"bos_token": bosOf(b), "eos_token": "",
		})
		if err != nil {
			return nil, err
		}
		if text, err = template.Render(ctx, vars); err != nil {
			return nil, err
		}
		special = false
		if strings.Contains(b.Chat.Source, "<|channel>thought") &&
			!strings.HasSuffix(text, contentChannel) {
			text += contentChannel
		}
	}
	return b.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: special})
}

// bosOf returns the BOS token of the model, or "".
func bosOf(b *models.Bundle) string {
	if id, ok := b.Tokenizer.BOS(); ok {
		return b.Tokenizer.Token(id)
	}
	return ""
}

// chatSections are the sections of a model that chats.
func (b *speculation) chatSections() []section {
	var list []section
	for _, one := range []struct {
		*Workload
		greedy, sampled figures.Bar
	}{
		{b.texts.chatCode, chatCodeGreedyBar, chatCodeSampledBar},
		{b.texts.chatProse, chatProseGreedyBar, chatProseSampledBar},
	} {
		if one.Workload == nil {
			continue
		}
		for _, temperature := range []float64{0, sampledTemperature} {
			bar := one.greedy
			if temperature > 0 {
				bar = one.sampled
			}
			s := section{Workload: one.Workload, Setting: Setting{Temperature: temperature}, rivals: true}
			blocks := []int{4, 8}
			if b.options.quick {
				blocks = blocks[:1]
			}
			for _, d := range continued(b.Drafters) {
				s.ways = append(s.ways, fixed(d, blocks)...)
			}
			s.ways = append(s.ways, b.adaptives()...)
			auto := s.ways[len(s.ways)-1] // all drafters together, or the only one
			s.bars = onlyAdaptive(bar, func(w Way) bool { return w.Drafter == auto.Drafter })
			list = append(list, s)
		}
	}
	return list
}
