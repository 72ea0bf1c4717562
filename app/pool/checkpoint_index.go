package pool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/models"
	"tandem/storage"
)

// A checkpointIndex keeps the records of one model's checkpoint files in the database.
type checkpointIndex struct {
	db    *storage.DB
	model string // id
}

var _ checkpoint.Index = checkpointIndex{}

// Known implements checkpoint.Index.
func (x checkpointIndex) Known() (list []checkpoint.Entry, err error) {
	rows, err := x.db.Checkpoints.All(context.Background(), x.model)
	for _, c := range rows {
		list = append(list, entryOf(c))
	}
	return list, err
}

// entryOf returns what the engine knows about a row: all fields but its use, its name and its pin.
func entryOf(c storage.Checkpoint) checkpoint.Entry {
	return checkpoint.Entry{
		ID: c.ID, Parent: c.Parent, Key: c.Key, Context: c.Context, Kind: checkpoint.Kind(c.Kind),
		From: c.FromToken, To: c.ToToken, Run: c.Run, Bytes: c.Bytes, Digest: c.Digest,
		Created: c.CreatedAt, Gone: c.Gone,
	}
}

// row returns the row of an entry of this model.
func (x checkpointIndex) row(e checkpoint.Entry) storage.Checkpoint {
	return storage.Checkpoint{
		ID: e.ID, Parent: e.Parent, Model: x.model, Key: e.Key, Context: e.Context,
		Kind: string(e.Kind), FromToken: e.From, ToToken: e.To, Run: e.Run, Bytes: e.Bytes,
		Digest: e.Digest, CreatedAt: e.Created, Gone: e.Gone,
	}
}

// Add implements checkpoint.Index. The file may be older than the database. So the run that it
// names is kept only if that run exists and was in progress then. A file replaces those of other
// arithmetic with the same text.
func (x checkpointIndex) Add(e checkpoint.Entry) (replaced []string, err error) {
	r, err := x.db.Runs.Get(context.Background(), e.Run)
	if err != nil || e.Created.Before(r.StartedAt) ||
		!r.EndedAt.IsZero() && e.Created.After(r.EndedAt.Add(time.Minute)) {
		e.Run = 0
	}
	err = x.db.Checkpoints.Add(context.Background(), x.row(e))
	if storage.IsNotFound(err) {
		return nil, checkpoint.ErrForgotten
	}
	if err != nil || IsTextOnly(e.Key) {
		return nil, err
	}
	return x.db.Checkpoints.Replace(context.Background(), e.ID,
		func(c storage.Checkpoint) bool { return IsTextOnly(c.Key) })
}

// Use implements checkpoint.Index.
func (x checkpointIndex) Use(u checkpoint.Use) error {
	return x.db.Checkpoints.MarkUsed(context.Background(), storage.Restoration(u))
}

// Discard implements checkpoint.Index.
func (x checkpointIndex) Discard(id, why string) error {
	return x.db.Checkpoints.MarkGone(context.Background(), []string{id}, why)
}

// ByWorth implements checkpoint.Index. Files of other arithmetic go first, except the pinned ones:
// these have the whole text, so what they go on from may go too.
func (x checkpointIndex) ByWorth() (list, stay []checkpoint.Entry, err error) {
	rows, kept, err := x.db.Checkpoints.ByWorth(context.Background())
	var useful []checkpoint.Entry
	for i, c := range slices.Concat(rows, kept) {
		switch {
		case IsTextOnly(c.Key) && !c.Pinned:
			list = append(list, entryOf(c))
		case i < len(rows):
			useful = append(useful, entryOf(c))
		default:
			stay = append(stay, entryOf(c))
		}
	}
	return append(list, useful...), stay, err
}

// arithmetic names what computes keys and values. Rows of another one are other bits.
func arithmetic() string {
	return fmt.Sprintf("MLX %s and models %d", mlx.Version(), models.Arithmetic)
}

// IsTextOnly reports whether a checkpoint's key is of another arithmetic than this program's. Its rows
// are of no use then. Its text is, and is read again.
func IsTextOnly(key string) bool { return checkpoint.Arithmetic(key) != arithmetic() }
