package library

import (
	"context"
	"fmt"

	"tandem/app/pool"
	"tandem/models"
	"tandem/storage"
)

// registerStarter renews the row of the starter model. A starter that is missing or damaged loses
// its row, so that the pocket model is served in its place.
func (l *Library) registerStarter(ctx context.Context) error {
	if l.opts.Starter != "" {
		info, err := l.pool.Inspect(l.opts.Starter)
		if err == nil {
			_, err = l.register(ctx, storage.Model{ID: models.StarterID, Path: l.opts.Starter,
				Source: storage.SourceStarter}, info)
			return err
		}
		l.starterFault = fmt.Sprintf("The starter model cannot be used, so that %s is served in its "+
			"place; install Tandem again to mend it: %v.", models.PocketID, err)
		l.log.Warn("the starter model cannot be used", "reason", err)
	}
	id, err := pool.StarterID(ctx, l.db)
	if err != nil || id == "" {
		return err
	}
	return l.db.Models.Remove(ctx, id)
}

// StarterFault returns why the starter model cannot be used, in one sentence. It is empty if it can
// be, and if this program has none.
func (l *Library) StarterFault() string { return l.starterFault }
