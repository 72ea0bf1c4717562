package storage

import (
	"context"
	"fmt"
	"os"
)

// UsageBy says how runs are grouped.
type UsageBy string

// The ways to group runs.
const (
	ByModel  UsageBy = "model"
	ByClient UsageBy = "client"
	ByDay    UsageBy = "day" // in local time
)

// day is the SQL expression for the day of a time, YYYY-MM-DD, in local time.
func day(column string) string { return "date(" + column + ", 'localtime')" }

// MaxUsages is how many rows [DB.Usage] returns at most.
const MaxUsages = 366

// Usage sums up runs and checkpoints by model, client or day. The group with the most bytes comes
// first; days come latest first. A checkpoint whose run is no longer in the history counts for its
// model only.
func (db *DB) Usage(ctx context.Context, by UsageBy) (list []Usage, err error) {
	names := map[UsageBy][2]string{
		ByModel:  {"model", "c.model"},
		ByClient: {"client", "r.client"},
		ByDay:    {day("started_at"), day("r.started_at")},
	}[by]
	order := "3 DESC, 2 DESC, name"
	if by == ByDay {
		order = "name DESC"
	}
	list, err = query(ctx, db.r, func(u *Usage) []any {
		return []any{&u.Name, &u.Runs, &u.Bytes, &u.Checkpoints}
	}, `SELECT name, sum(runs), sum(bytes), sum(checkpoints) FROM
		(SELECT `+names[0]+` AS name, 1 AS runs, 0 AS bytes, 0 AS checkpoints FROM runs
		UNION ALL SELECT `+names[1]+`, 0, c.bytes, 1 FROM checkpoints c LEFT JOIN runs r ON r.id = c.run WHERE c.gone = '')
		WHERE name IS NOT NULL AND name <> '' GROUP BY name ORDER BY `+order+` LIMIT ?`, MaxUsages)
	return list, db.wrap(fmt.Sprintf("sum up by %s", by), err)
}

// Totals are the sums over everything.
type Totals struct {
	Runs        int
	Checkpoints int   // whose files are there
	Bytes       int64 // of these files
	Pinned      int64 // bytes of the pinned ones
	Today       int64 // bytes of those begun today, in local time, with those that are gone but not forgotten
	Database    int64 // bytes of the file and its log
}

// Totals returns the sums over everything.
func (db *DB) Totals(ctx context.Context) (t Totals, err error) {
	err = db.r.QueryRowContext(ctx,
		`SELECT (SELECT count(*) FROM runs),
		(SELECT coalesce(sum(bytes), 0) FROM checkpoints WHERE `+day("created_at")+" = "+day("?")+`),
		count(*), coalesce(sum(bytes), 0), coalesce(sum(bytes * pinned), 0) FROM checkpoints WHERE gone = ''`,
		stamp(db.clock())).Scan(&t.Runs, &t.Today, &t.Checkpoints, &t.Bytes, &t.Pinned)
	for _, name := range []string{db.path, db.path + "-wal"} {
		if st, err := os.Stat(name); err == nil {
			t.Database += st.Size()
		}
	}
	return t, db.wrap("sum up", err)
}
