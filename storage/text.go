package storage

import (
	"database/sql/driver"
	"fmt"
)

// A text is JSON in a column: text in the file, bytes here. Nil is stored as the empty text.
type text []byte

// Value implements [driver.Valuer].
func (t text) Value() (driver.Value, error) { return string(t), nil }

// Scan implements [database/sql.Scanner].
func (t *text) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a text is stored as %T", v)
	}
	*t = nil
	if s != "" {
		*t = text(s)
	}
	return nil
}
