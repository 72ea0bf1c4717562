package history

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"tandem/app/control"
)

const (
	tokensBefore = 20 // shown of what both texts begin with
	tokensAfter  = 8  // shown of each text from where they part
)

// Divergence returns the words around the place where the prompt of a run parts from an earlier text. A
// part that is not kept any more is empty. It returns nil for a run whose prompt does not part, or
// that does not say where. It implements server.Runs.
func (h *History) Divergence(ctx context.Context, r control.Run) *control.DivergenceText {
	var p control.Divergence
	if r.Divergence == nil || json.Unmarshal(r.Divergence, &p) != nil {
		return nil
	}
	out := &control.DivergenceText{Divergence: p}
	t, err := h.pool.Tokenizer(ctx, r.Model)
	if err != nil {
		return out
	}
	given, kept := h.tokens(ctx, r.ID), h.tokens(ctx, p.Run)
	both := given
	if len(both) < p.At {
		both = kept
	}
	if len(both) >= p.At {
		out.Before = t.Decode(both[max(0, p.At-tokensBefore):p.At], false)
	}
	from := func(text []int32) string {
		if len(text) <= p.At {
			return ""
		}
		return t.Decode(text[p.At:min(len(text), p.At+tokensAfter)], false)
	}
	out.KeptText, out.GivenText = from(kept), from(given)
	return out
}

// tokens returns the tokens of a run as far as they are kept, none for the run 0.
func (h *History) tokens(ctx context.Context, run int64) []int32 {
	if run == 0 {
		return nil
	}
	if t, err := h.db.Runs.Text(ctx, run); err == nil {
		var text []int32
		if t.File != "" {
			_, file, err := h.CheckpointText(ctx, t.File)
			if err != nil || len(file) < t.Tokens {
				return nil
			}
			text = slices.Clone(file[:t.Tokens])
		}
		for b := t.Tail; len(b) >= 4; b = b[4:] {
			text = append(text, int32(binary.LittleEndian.Uint32(b)))
		}
		return text
	}
	text, err := h.RunCheckpoint(ctx, run)
	if err != nil {
		return nil
	}
	return text
}
