package history

import (
	"context"

	"tandem/app/control"
)

// textEnd is how many tokens at the end of a checkpoint's text are shown, unless all are asked for.
const textEnd = 200

// Checkpoint returns a checkpoint with the end of its text, or with all of it. Without a tokenizer
// the text is empty. It implements server.Checkpoints.
func (h *History) Checkpoint(ctx context.Context,
	q control.CheckpointRead) (control.Checkpoint, error) {
	row, err := h.findCheckpoint(ctx, q.Checkpoint)
	if err != nil {
		return control.Checkpoint{}, err
	}
	c := describeCheckpoint(row)
	t, err := h.pool.Tokenizer(ctx, row.Model)
	if err != nil {
		h.log.Info("the text of a checkpoint cannot be shown", "checkpoint", row.ID,
			"model", row.Model, "error", err)
		return c, nil
	}
	text, err := h.readText(row)
	if err != nil {
		return c, err
	}
	if !q.Whole {
		text = text[max(0, len(text)-textEnd):]
	}
	c.Text = t.Decode(text, false)
	return c, nil
}
