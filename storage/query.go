package storage

import (
	"context"
	"database/sql"
)

// A querier is the database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// query returns the rows of a statement, never nil. columns returns where the columns of a row go.
func query[T any](ctx context.Context, q querier, columns func(*T) []any, statement string,
	args ...any) ([]T, error) {
	list := []T{}
	err := each(ctx, q, columns, func(row T) { list = append(list, row) }, statement, args...)
	return list, err
}

// each calls visit with each row of a statement. columns returns where the columns of a row go.
func each[T any](ctx context.Context, q querier, columns func(*T) []any, visit func(T),
	statement string, args ...any) error {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(columns(&row)...); err != nil {
			return err
		}
		visit(row)
	}
	return rows.Err()
}
