package storage

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// timeLayout is how times are stored: UTC with milliseconds, a fixed width, so that they sort as text.
const timeLayout = "2006-01-02T15:04:05.000Z"

// A stamp is a time.Time as a column; the zero time is NULL.
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

// clock is the time now as it will be read back.
func (db *DB) clock() time.Time { return db.now().UTC().Truncate(time.Millisecond) }
