package history

import (
	"testing"

	"tandem/app/pool"
	"tandem/app/roomtest"
	"tandem/storage"
)

// opened is a history above a pool, without a server.
type opened struct {
	*roomtest.Rooms
	history *History
	chats   *Chats
	pool    *pool.Pool
	db      *storage.DB
}

// open opens the history in a home folder. The test's end closes it, unless Close did before.
func open(t *testing.T, folder string) *opened {
	t.Helper()
	r := roomtest.Open(t, roomtest.Options{Home: folder})
	return &opened{r, New(r.DB, r.Home, r.Settings, r.Pool, r.Log, Options{}),
		NewChats(r.DB, r.Home, r.Pool), r.Pool, r.DB}
}
