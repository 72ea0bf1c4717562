package storage

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// timeLayout is the form of stored times: UTC with milliseconds, at a fixed width, so that they
// sort as text.
const timeLayout = "2006-01-02T15:04:05.000Z"

// A stamp is a time.Time in a column. The zero time is stored as NULL.
type stamp time.Time

// Value implements [driver.Valuer].
func (s stamp) Value() (driver.Value, error) {
	t := time.Time(s)
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().Format(timeLayout), nil
}

// Scan implements [database/sql.Scanner].
func (s *stamp) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s = stamp{}
		return nil
	case string:
		t, err := time.Parse(timeLayout, v)
		*s = stamp(t)
		return err
	}
	return fmt.Errorf("a time is stored as %T", v)
}

// clock returns the current time as it will be read back: in UTC and whole milliseconds.
func (db *DB) clock() time.Time { return db.now().UTC().Truncate(time.Millisecond) }
