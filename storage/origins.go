package storage

import (
	"context"
	"encoding/json"
	"fmt"
)

// An Origin says where a checkpoint comes from, as far as the history and the chats know.
type Origin struct {
	Client string // that asked for the run that computed it
	Title  string // of the chat that this run answered in; empty if there is none
}

// Origins returns the origins of checkpoints, by id, as far as they are known.
func (cs Checkpoints) Origins(ctx context.Context, ids []string) (map[string]Origin, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	type origin struct {
		id string
		Origin
	}
	origins := map[string]Origin{}
	err = each(ctx, cs.db.r, func(o *origin) []any { return []any{&o.id, &o.Client, &o.Title} },
		func(o origin) {
			if o.Origin != (Origin{}) {
				origins[o.id] = o.Origin
			}
		},
		`SELECT c.id, coalesce(r.client, ''), coalesce((SELECT t.title FROM chat_messages m JOIN chats t ON t.id = m.chat
			WHERE m.run = c.run AND m.run > 0 LIMIT 1), '')
		FROM json_each(?) JOIN checkpoints c ON c.id = value LEFT JOIN runs r ON r.id = c.run WHERE c.run > 0`,
		string(list))
	return origins, cs.db.wrap("find what checkpoints came from", err)
}

// ResumedBy returns the run that completed the answer of a run that was cut off, 0 if none did.
func (rs Runs) ResumedBy(ctx context.Context, run int64) (id int64, err error) {
	err = rs.db.r.QueryRowContext(ctx,
		`SELECT coalesce(max(id), 0) FROM runs WHERE resumes = ? AND resumes > 0
		AND ended_at IS NOT NULL AND finish_reason NOT IN ('cancel', 'error', ?)`, run,
		FinishInterrupted).Scan(&id)
	return id, rs.db.wrap(fmt.Sprintf("find what completed run %d", run), err)
}
