package storage

import (
	"context"
	"time"
)

// A SeenClient is a client of the history, with the start of its last run.
type SeenClient struct {
	Client string
	At     time.Time
}

// Clients returns the clients of the history, the latest first, at most MaxRunValues.
func (rs Runs) Clients(ctx context.Context) (list []SeenClient, err error) {
	const op = "list clients"
	rows, err := rs.db.r.QueryContext(ctx, `SELECT client, max(started_at) FROM runs WHERE client <> ''
		GROUP BY client ORDER BY max(id) DESC LIMIT ?`, MaxRunValues)
	if err != nil {
		return nil, rs.db.wrap(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var c SeenClient
		if err := rows.Scan(&c.Client, (*stamp)(&c.At)); err != nil {
			return nil, rs.db.wrap(op, err)
		}
		list = append(list, c)
	}
	return list, rs.db.wrap(op, rows.Err())
}
