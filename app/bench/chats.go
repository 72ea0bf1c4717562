package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"tandem/app/figures"
	"tandem/models"
)

// benchChats are questions to a chat model that no drafter of ours was trained on.
//
//go:embed chats.json
var benchChats []byte

// chatAnswer is how many tokens an answer to a chat has, at most. Most end by themselves before.
const chatAnswer = 256

// The bars for chats, of all drafters together.
var (
	chatCodeGreedyBar   = figures.Bar{Least: 1.4, Aim: 2.2}
	chatCodeSampledBar  = figures.Bar{Least: 1.15, Aim: 1.6}
	chatProseGreedyBar  = figures.Bar{Least: 1.25, Aim: 1.7}
	chatProseSampledBar = figures.Bar{Least: 1.05, Aim: 1.3}
)

// newChats encodes the questions with the model's template. It returns none for a model without
// one.
func newChats(ctx context.Context, b *models.Bundle) (code, prose *workload, err error) {
	var questions struct{ Code, Prose []string }
	if err := json.Unmarshal(benchChats, &questions); err != nil {
		return nil, nil, fmt.Errorf("chats.json: %w", err)
	}
	if _, err := b.Chat.Template(false); errors.Is(err, models.ErrNoTemplate) {
		return nil, nil, nil
	}
	asked := subject{bundle: b}
	workloadOf := func(name, doc string, texts []string) *workload {
		w := &workload{name: name, doc: doc, limit: chatAnswer, unusable: map[unusable]string{}}
		for i, text := range texts {
			ids, e := asked.direct(ctx, text)
			err = errors.Join(err, e)
			w.prompts = append(w.prompts, prompt{ids: ids})
			w.picks = append(w.picks, i)
		}
		return w
	}
	code = workloadOf("chats on code", "questions and tasks about code, answered in a chat", questions.Code)
	prose = workloadOf("chats on prose", "questions about everything else, answered in a chat",
		questions.Prose)
	return code, prose, err
}

// chatSections are the sections of a model that chats.
func (b *speculation) chatSections() []section {
	var list []section
	for _, one := range []struct {
		*workload
		greedy, sampled figures.Bar
	}{
		{b.texts.chatCode, chatCodeGreedyBar, chatCodeSampledBar},
		{b.texts.chatProse, chatProseGreedyBar, chatProseSampledBar},
	} {
		if one.workload == nil {
			continue
		}
		for _, temperature := range []float64{0, sampledTemperature} {
			least := one.greedy
			if temperature > 0 {
				least = one.sampled
			}
			s := section{workload: one.workload, setting: setting{temperature: temperature}, rivals: true}
			blocks := []int{4, 8}
			if b.options.Quick {
				blocks = blocks[:1]
			}
			for _, d := range continued(b.drafts) {
				s.ways = append(s.ways, fixed(d, blocks)...)
			}
			s.ways = append(s.ways, b.adaptives()...)
			auto := s.ways[len(s.ways)-1]
			s.bars = onlyAdaptive(least, func(w way) bool { return w.drafter == auto.drafter })
			list = append(list, s)
		}
	}
	return list
}
