package storage

import (
	"context"
)

// Clients returns the clients of the history, the latest first, at most MaxRunValues.
func (rs Runs) Clients(ctx context.Context) (list []SeenClient, err error) {
	list, err = query(ctx, rs.db.r,
		func(c *SeenClient) []any { return []any{&c.Client, (*stamp)(&c.At)} },
		`SELECT client, max(started_at) FROM runs WHERE client <> ''
		GROUP BY client ORDER BY max(id) DESC LIMIT ?`, MaxRunValues)
	return list, rs.db.wrap("list clients", err)
}
