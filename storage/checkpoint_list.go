package storage

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	DefaultCheckpointsLimit = 200
	MaxCheckpointsLimit     = 1000
)

// A CheckpointList is one page of the selected checkpoints. A checkpoint that is used between two
// pages moves to the front, where a reader of later pages does not see it again.
type CheckpointList struct {
	Checkpoints []Checkpoint // the last used first
	Next        string       // Before of the next page; empty at the end

	// These count all selected checkpoints, on all pages.
	Count   int
	Bytes   int64
	SavedMS float64
}

// List returns a page. Error: [Invalid] for a negative limit or a bad cursor.
func (cs Checkpoints) List(ctx context.Context, f CheckpointQuery) (CheckpointList, error) {
	const op = "list checkpoints"
	var out CheckpointList
	if f.Limit < 0 {
		return out, invalid(op, "a limit may not be negative")
	}
	where, args := "gone = '' AND (model = ? OR ? = '')", []any{f.Model, f.Model}
	err := cs.db.r.QueryRowContext(ctx,
		"SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(saved_ms), 0) FROM checkpoints WHERE "+where,
		args...).
		Scan(&out.Count, &out.Bytes, &out.SavedMS)
	if err != nil {
		return out, cs.db.wrap(op, err)
	}
	if f.Before != "" {
		c, ok := parseCheckpointCursor(f.Before)
		if !ok {
			return out, invalid(op, "the cursor is not from a page of checkpoints")
		}
		where += " AND (used_at < ? OR used_at = ? AND (to_token < ? OR to_token = ? AND id > ?))"
		args = append(args, stamp(c.used), stamp(c.used), c.toToken, c.toToken, c.id)
	}
	limit := min(cmp.Or(f.Limit, DefaultCheckpointsLimit), MaxCheckpointsLimit)
	// The query asks for one row more, to know whether there is a next page.
	list, err := cs.query(ctx, where+" ORDER BY used_at DESC, to_token DESC, id LIMIT ?",
		append(args, limit+1)...)
	if err != nil {
		return out, err
	}
	if len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		out.Next = checkpointCursor{last.UsedAt, last.ToToken, last.ID}.String()
	}
	out.Checkpoints = list
	return out, nil
}

// A checkpointCursor is the place of a checkpoint in the list at the time of its page. The
// checkpoint may have moved since.
type checkpointCursor struct {
	used    time.Time
	toToken int
	id      string
}

func (c checkpointCursor) String() string {
	return fmt.Sprintf("%s,%d,%s", c.used.UTC().Format(timeLayout), c.toToken, c.id)
}

func parseCheckpointCursor(text string) (c checkpointCursor, ok bool) {
	used, rest, _ := strings.Cut(text, ",")
	tokens, id, found := strings.Cut(rest, ",")
	var timeErr, tokenErr error
	c.used, timeErr = time.Parse(timeLayout, used)
	c.toToken, tokenErr = strconv.Atoi(tokens)
	c.id = id
	return c, found && timeErr == nil && tokenErr == nil && !c.used.IsZero()
}
