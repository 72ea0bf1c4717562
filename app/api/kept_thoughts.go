package api

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tandem/app/control"
)

// Thoughts keep what models thought before their answers, sealed. An owner is the id of a key, or 0
// for all clients without one.
type Thoughts interface {
	// KeepsThoughts reports whether thoughts are kept and put back at all.
	KeepsThoughts() bool
	// KeepThought keeps a thought in place of an earlier one of its history. It keeps nothing if
	// thoughts were deleted since its request arrived.
	KeepThought(ctx context.Context, t control.KeptThought, arrived time.Time) error
	// KeptThoughts returns the thoughts of an owner and a model before the answers that end these
	// histories. Histories without one are left out.
	KeptThoughts(ctx context.Context, owner int64, model string,
		histories []string) ([]control.KeptThought, error)
}

// A thoughtMemory has the thoughts of one client.
type thoughtMemory struct {
	Thoughts
	owner int64
	log   *slog.Logger
}

// A putBack counts the thoughts that were put back into a prompt, and their tokens.
type putBack struct {
	Thoughts int `json:"thoughts"`
	Tokens   int `json:"tokens"`
}

// A droppedThought is a thought that the client left out of an earlier answer.
type droppedThought struct {
	at     int // of the message
	text   string
	tokens int
}

// find returns the kept thoughts of these pasts, in the order of their messages.
func (t *thoughtMemory) find(ctx context.Context, modelID string, pasts map[int]past) []droppedThought {
	at := map[string][]int{}
	var names []string
	for i, p := range pasts {
		name := p.name()
		at[name], names = append(at[name], i), append(names, name)
	}
	kept, err := t.KeptThoughts(ctx, t.owner, modelID, names)
	if err != nil && ctx.Err() == nil {
		t.log.Warn("thoughts of earlier answers are not put back", "error", err)
	}
	var list []droppedThought
	for _, k := range kept {
		for _, i := range at[k.History] {
			p := pasts[i]
			if text, err := p.open(k.Sealed); err == nil {
				list = append(list, droppedThought{at: i, text: text, tokens: k.Tokens})
			}
		}
	}
	slices.SortFunc(list, func(a, b droppedThought) int { return a.at - b.at })
	return list
}

// keepTime bounds how long the end of an answer waits until its thought is kept.
const keepTime = time.Second

// keep is KeepThought within keepTime. A database that another program holds answers later.
func (t *thoughtMemory) keep(ctx context.Context, thought control.KeptThought,
	arrived time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	kept := make(chan error, 1)
	go func() { kept <- t.KeepThought(ctx, thought, arrived) }()
	select {
	case err := <-kept:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the database takes longer than %v", keepTime)
	}
}
