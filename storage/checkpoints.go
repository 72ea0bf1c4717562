package storage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Checkpoints is the index of the checkpoint files.
type Checkpoints struct{ db *DB }

// KeepGone is how many checkpoints that are gone are remembered, the latest, to say why a text had
// to be evaluated.
const KeepGone = 10_000

const checkpointColumns = `id, parent, model, key, context, kind, from_token, to_token, bytes, digest, run, hits, name, pinned, gone, created_at, used_at, saved_ms`

// checkpointFields are the columns in the order of checkpointColumns, for reading and writing.
func checkpointFields(c *Checkpoint) []any {
	return []any{&c.ID, &c.Parent, &c.Model, &c.Key, &c.Context, &c.Kind, &c.FromToken, &c.ToToken,
		&c.Bytes, &c.Digest, &c.Run,
		&c.Hits, &c.Name, &c.Pinned, &c.Gone, (*stamp)(&c.CreatedAt), (*stamp)(&c.UsedAt),
		&c.SavedMS}
}

// Add stores a checkpoint. In place of an older one with its id, it keeps name, pin,
// hits, savings and CreatedAt. It sets UsedAt, and CreatedAt if that is zero. Error: [NotFound] if
// its run was forgotten while in flight.
func (cs Checkpoints) Add(ctx context.Context, c Checkpoint) error {
	if c.CreatedAt.IsZero() {
		c.CreatedAt = cs.db.clock()
	}
	c.UsedAt = cs.db.clock()
	marks := strings.Repeat(", ?", len(checkpointFields(&c))-1)
	const op = "keep a checkpoint"
	return cs.db.wrap(op, cs.db.update(ctx, func(tx *sql.Tx) error {
		if err := refuseForgotten(ctx, tx, op, c.Run); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx,
			"INSERT INTO checkpoints ("+checkpointColumns+") VALUES (?"+marks+`)
		ON CONFLICT (id) DO UPDATE SET
			parent = excluded.parent, model = excluded.model, key = excluded.key, context = excluded.context,
			kind = excluded.kind, from_token = excluded.from_token, to_token = excluded.to_token,
			bytes = excluded.bytes,
			digest = excluded.digest, run = excluded.run, gone = excluded.gone, used_at = excluded.used_at`,
			checkpointFields(&c)...)
		return err
	}))
}

// Replace has a checkpoint take the place of others of its model with the same text: those
// that useless reports. It gets their pin and a name, and what goes on from them goes on from it. It
// returns the ids of those that it replaced, which have no row any more; the caller deletes their
// files. One whose name would be lost is left.
func (cs Checkpoints) Replace(ctx context.Context, id string, useless func(Checkpoint) bool) (
	replaced []string, err error) {
	const op = "replace checkpoints"
	c, err := cs.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	same, err := cs.query(ctx, "gone = '' AND model = ? AND to_token = ? AND digest = ? AND id <> ?",
		c.Model, c.ToToken, c.Digest, id)
	if err != nil {
		return nil, err
	}
	name := c.Name
	for _, old := range same {
		if !useless(old) || old.Name != "" && name != "" {
			continue
		}
		name = cmp.Or(name, old.Name)
		replaced = append(replaced, old.ID)
	}
	if len(replaced) == 0 {
		return nil, nil
	}
	return replaced, cs.db.wrap(op, cs.db.update(ctx, func(tx *sql.Tx) error {
		for _, old := range replaced {
			for _, change := range []string{
				`UPDATE checkpoints SET pinned = pinned OR (SELECT pinned FROM checkpoints WHERE id = ?2)
					WHERE id = ?1`,
				"UPDATE checkpoints SET parent = ?1 WHERE parent = ?2",
				"UPDATE run_texts SET file = ?1 WHERE file = ?2",
				"DELETE FROM checkpoints WHERE id = ?2",
			} {
				if _, err := tx.ExecContext(ctx, change, id, old); err != nil {
					return err
				}
			}
		}
		_, err := tx.ExecContext(ctx, "UPDATE checkpoints SET name = ? WHERE id = ?", name, id)
		return err
	}))
}

// A Restoration is the use of files to restore the beginning of a text.
type Restoration struct {
	IDs    []string // of the files, in the order of their tokens
	Tokens int      // that were restored
	Took   time.Duration
}

// MarkUsed notes that a text was restored from files, and adds the time saved; see
// Checkpoint.SavedMS. For a model without measured runs it adds nothing. Unknown ids are left out.
func (cs Checkpoints) MarkUsed(ctx context.Context, r Restoration) error {
	return cs.db.wrap("note the use of checkpoints", cs.db.update(ctx, func(tx *sql.Tx) error {
		now := stamp(cs.db.clock())
		end := r.Tokens
		for _, id := range slices.Backward(r.IDs) {
			var model string
			var from int
			err := tx.QueryRowContext(ctx, "SELECT model, from_token FROM checkpoints WHERE id = ?",
				id).Scan(&model, &from)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			pace, err := prefillPace(ctx, tx, model)
			if err != nil {
				return err
			}
			// A file may end after the beginning of the next one. A token counts for the last file
			// that has it.
			tokens := max(0, end-from)
			end = min(end, from)
			saved := 0.0
			if pace > 0 {
				saved = float64(tokens) * (pace - float64(r.Took)/float64(time.Millisecond)/float64(max(r.Tokens, 1)))
			}
			if _, err := tx.ExecContext(ctx,
				"UPDATE checkpoints SET hits = hits + 1, used_at = ?, saved_ms = saved_ms + ? WHERE id = ?",
				now, saved, id); err != nil {
				return err
			}
		}
		return nil
	}))
}

// prefillPace returns the milliseconds for each prompt token that a model's latest 100 runs
// evaluated, 0 if there are no such runs.
func prefillPace(ctx context.Context, tx *sql.Tx, model string) (ms float64, err error) {
	err = tx.QueryRowContext(ctx,
		`SELECT coalesce(max(0, sum(prefill_ms - restore_ms) / sum(prompt_tokens - cached_tokens)), 0) FROM
		(SELECT prefill_ms, restore_ms, prompt_tokens, cached_tokens FROM runs WHERE model = ? AND prompt_tokens > cached_tokens ORDER BY id DESC LIMIT 100)`,
		model).Scan(&ms)
	return ms, err
}

// MarkGone notes why the files of checkpoints are gone. The rows lose their names and pins.
// The oldest rows beyond KeepGone are deleted.
func (cs Checkpoints) MarkGone(ctx context.Context, ids []string, why string) error {
	return cs.db.wrap("note the loss of checkpoints", cs.db.update(ctx, func(tx *sql.Tx) error {
		now := stamp(cs.db.clock())
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx,
				"UPDATE checkpoints SET gone = ?, used_at = ?, name = '', pinned = 0 WHERE id = ? AND gone = ''",
				why, now, id); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM checkpoints WHERE id IN
			(SELECT id FROM checkpoints WHERE gone <> '' ORDER BY used_at DESC LIMIT -1 OFFSET ?)`,
			KeepGone)
		return err
	}))
}

// Get returns the checkpoint with this id or name, whose file is there. An id wins over a
// name. Error: [NotFound].
func (cs Checkpoints) Get(ctx context.Context, name string) (Checkpoint, error) {
	var c Checkpoint
	err := cs.db.r.QueryRowContext(ctx,
		"SELECT "+checkpointColumns+" FROM checkpoints WHERE gone = '' AND (id = ? OR name = ? AND name <> '') ORDER BY id = ? DESC LIMIT 1",
		name, name, name).Scan(checkpointFields(&c)...)
	return c, cs.db.wrapRow(fmt.Sprintf("find the checkpoint %q", name),
		"there is no such checkpoint", err)
}

// All returns all checkpoints of a model, also the ones whose files are gone.
func (cs Checkpoints) All(ctx context.Context, model string) ([]Checkpoint, error) {
	return cs.query(ctx, "model = ? ORDER BY to_token, id", model)
}

// OfRun returns the checkpoint of a run that reaches furthest. Error: [NotFound].
func (cs Checkpoints) OfRun(ctx context.Context, run int64) (Checkpoint, error) {
	var c Checkpoint
	err := cs.db.r.QueryRowContext(ctx, "SELECT "+checkpointColumns+
		" FROM checkpoints WHERE gone = '' AND run = ? ORDER BY to_token DESC LIMIT 1", run).
		Scan(checkpointFields(&c)...)
	return c, cs.db.wrapRow(fmt.Sprintf("find a checkpoint of run %d", run), "there is none", err)
}

func (cs Checkpoints) query(ctx context.Context, where string, args ...any) (
	list []Checkpoint, err error) {
	list, err = query(ctx, cs.db.r, checkpointFields,
		"SELECT "+checkpointColumns+" FROM checkpoints WHERE "+where, args...)
	return list, cs.db.wrap("list checkpoints", err)
}

// SetName sets the name of a checkpoint; an empty one removes it. Errors: [NotFound];
// [Conflict] if another checkpoint has the name.
func (cs Checkpoints) SetName(ctx context.Context, id, name string) error {
	return cs.setColumn(ctx, id, "name", name)
}

// SetPinned pins a checkpoint, or unpins it. Error: [NotFound].
func (cs Checkpoints) SetPinned(ctx context.Context, id string, pinned bool) error {
	return cs.setColumn(ctx, id, "pinned", pinned)
}

func (cs Checkpoints) setColumn(ctx context.Context, id, column string, value any) error {
	err := cs.db.execOne(ctx,
		"UPDATE checkpoints SET "+column+" = ? WHERE id = ? AND gone = ''", value, id)
	return cs.db.wrapRow(fmt.Sprintf("change the checkpoint %q", id), "there is no such checkpoint",
		err)
}

// halfLife is the time after which an unused checkpoint is worth half.
const halfLife = 24 * time.Hour

// ByWorth returns the checkpoints of all models whose files are there. list has those
// that may be deleted, the least valuable first. stay has the pinned ones and their ancestors.
//
// The worth is the seconds that its uses save for each byte. Seconds for each token are from
// the model's latest runs. Uses are those so far, halved for each halfLife since the last one. A
// checkpoint never comes before its descendants.
func (cs Checkpoints) ByWorth(ctx context.Context) (list, stay []Checkpoint, err error) {
	list, err = cs.query(ctx, "gone = '' ORDER BY used_at DESC, to_token DESC, id")
	if err != nil {
		return nil, nil, err
	}
	seconds := map[string]float64{}
	type pace struct {
		model   string
		seconds float64
	}
	err = each(ctx, cs.db.r, func(p *pace) []any { return []any{&p.model, &p.seconds} },
		func(p pace) { seconds[p.model] = p.seconds },
		`SELECT model, sum(prefill_ms - restore_ms) / 1000 / sum(prompt_tokens - cached_tokens) FROM
		(SELECT model, prefill_ms, restore_ms, prompt_tokens, cached_tokens FROM runs ORDER BY id DESC LIMIT 1000) WHERE prompt_tokens > cached_tokens GROUP BY model`)
	if err != nil {
		return nil, nil, cs.db.wrap("rate checkpoints", err)
	}

	const unknown = 1e-3 // seconds for each token of a model without runs
	worth := map[string]float64{}
	now := cs.db.clock()
	for _, c := range list {
		s := seconds[c.Model]
		if s <= 0 {
			s = unknown
		}
		uses := float64(1+c.Hits) * math.Exp2(-float64(now.Sub(c.UsedAt))/float64(halfLife))
		worth[c.ID] = uses * s * float64(c.ToToken-c.FromToken) / float64(max(c.Bytes, 1))
		if c.Pinned {
			worth[c.ID] = math.Inf(1)
		}
	}
	// A checkpoint is worth at least as much as its descendants. A parent begins before
	// its child. It may end after the beginning of the child, which can go on from inside it.
	slices.SortFunc(list, func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(b.FromToken, a.FromToken), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range list {
		if _, ok := worth[c.Parent]; ok {
			worth[c.Parent] = max(worth[c.Parent], worth[c.ID])
		}
	}
	list = slices.DeleteFunc(list, func(c Checkpoint) bool {
		pinned := math.IsInf(worth[c.ID], 1)
		if pinned {
			stay = append(stay, c)
		}
		return pinned
	})
	slices.SortStableFunc(list, func(a, b Checkpoint) int {
		return cmp.Compare(worth[a.ID], worth[b.ID])
	})
	return list, stay, nil
}

// Tree returns a checkpoint and all that go on from it, as far as their files are there.
func (cs Checkpoints) Tree(ctx context.Context, id string) ([]Checkpoint, error) {
	return cs.query(ctx, `gone = '' AND id IN (WITH RECURSIVE tree (id) AS
		(SELECT ? UNION SELECT c.id FROM checkpoints c JOIN tree ON c.parent = tree.id) SELECT id FROM tree) ORDER BY to_token, id`, id)
}
