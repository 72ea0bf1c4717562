package storage

import (
	"context"
	"fmt"
	"os"
)

// A Usage is what runs of one kind left behind.
type Usage struct {
	Name        string
	Runs        int
	Checkpoints int   // whose files are there
	Bytes       int64 // of these files
}

// UsageBy says what runs are told apart by.
type UsageBy string

// The kinds of it.
const (
	ByModel  UsageBy = "model"
	ByClient UsageBy = "client"
	ByDay    UsageBy = "day" // where this machine is
)

// day is the expression for the day of a time, YYYY-MM-DD, as a clock on this machine's wall shows it.
func day(column string) string { return "date(" + column + ", 'localtime')" }

// MostUsages is how many rows [DB.Usage] returns at most.
const MostUsages = 366

// Usage sums runs and checkpoints up: those with the most bytes first, days the latest first. Checkpoints whose run is not in the
// history any more count with their model only.
func (db *DB) Usage(ctx context.Context, by UsageBy) (list []Usage, err error) {
	op := fmt.Sprintf("sum up by %s", by)
	names := map[UsageBy][2]string{
		ByModel:  {"model", "c.model"},
		ByClient: {"client", "r.client"},
		ByDay:    {day("started_at"), day("r.started_at")},
	}[by]
	order := "3 DESC, 2 DESC, name"
	if by == ByDay {
		order = "name DESC"
	}
	rows, err := db.r.QueryContext(ctx, `SELECT name, sum(runs), sum(bytes), sum(checkpoints) FROM
		(SELECT `+names[0]+` AS name, 1 AS runs, 0 AS bytes, 0 AS checkpoints FROM runs
		UNION ALL SELECT `+names[1]+`, 0, c.bytes, 1 FROM checkpoints c LEFT JOIN runs r ON r.id = c.run WHERE c.gone = '')
		WHERE name IS NOT NULL AND name <> '' GROUP BY name ORDER BY `+order+` LIMIT ?`, MostUsages)
	if err != nil {
		return nil, db.wrap(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var u Usage
		if err := rows.Scan(&u.Name, &u.Runs, &u.Bytes, &u.Checkpoints); err != nil {
			return nil, db.wrap(op, err)
		}
		list = append(list, u)
	}
	return list, db.wrap(op, rows.Err())
}

// Totals are what there is of all kinds.
type Totals struct {
	Runs        int
	Checkpoints int   // whose files are there
	Bytes       int64 // of these files
	Pinned      int64 // bytes, of those that are pinned
	Database    int64 // bytes of the file and its log
}

// Totals sums everything up.
func (db *DB) Totals(ctx context.Context) (t Totals, err error) {
	err = db.r.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM runs), count(*), coalesce(sum(bytes), 0), coalesce(sum(bytes * pinned), 0)
		FROM checkpoints WHERE gone = ''`).Scan(&t.Runs, &t.Checkpoints, &t.Bytes, &t.Pinned)
	for _, name := range []string{db.path, db.path + "-wal"} {
		if st, err := os.Stat(name); err == nil {
			t.Database += st.Size()
		}
	}
	return t, db.wrap("sum up", err)
}

// DrafterFiles returns all drafters that were pulled, by id.
func (db *DB) DrafterFiles(ctx context.Context) (list []DrafterFile, err error) {
	const op = "list drafters"
	rows, err := db.r.QueryContext(ctx, "SELECT id, path, revision, downloaded_by_us FROM drafter_files ORDER BY id")
	if err != nil {
		return nil, db.wrap(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var f DrafterFile
		if err := rows.Scan(&f.ID, &f.Path, &f.Revision, &f.DownloadedByUs); err != nil {
			return nil, db.wrap(op, err)
		}
		list = append(list, f)
	}
	return list, db.wrap(op, rows.Err())
}
