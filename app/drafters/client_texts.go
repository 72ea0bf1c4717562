package drafters

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/model"
	"tandem/engine/texts"
	"tandem/engine/tokenizer"
	"tandem/storage"
)

// TextFolder is the folder of the memories of texts in the home folder. Only the owner may read it,
// as with checkpoints, and backups leave it out.
const TextFolder = "texts"

// textsIdle is after how long without a request a client's memory of texts leaves the process.
const textsIdle = 10 * time.Minute

// ClientTexts are the memories of texts of all clients. It is safe for use by several goroutines.
type ClientTexts struct {
	store *texts.Store
	db    *storage.DB
	log   *slog.Logger
}

// NewClientTexts returns the memories in the home folder. The caller calls Flush at the end.
func NewClientTexts(dir *home.Home, db *storage.DB, log *slog.Logger) *ClientTexts {
	return &ClientTexts{store: texts.NewStore(texts.Options{Dir: dir.Path(TextFolder), Idle: textsIdle,
		Logger: log, Make: home.WithoutBackup}), db: db, log: log}
}

// Open opens the memory of an author's texts for a request to a model. It returns nil if the author's key
// was deleted. A later key never gets what that one left: ids of keys are not used again, and a request that
// was there at the deletion, or at another call of Forget, adds nothing.
func (c *ClientTexts) Open(ctx context.Context, by model.Author, of string, t *tokenizer.Tokenizer) *texts.Use {
	if !c.hasKey(ctx, by.Key) {
		return nil
	}
	return c.store.OpenSince(texts.Owner{Client: textsClient(by.Key), Tokenizer: t.Hash()},
		texts.Origin{Model: of, Client: by.Client, Run: by.Run, Started: by.Arrived}, by.Arrived)
}

// Flush waits until everything is on disk.
func (c *ClientTexts) Flush() { c.store.Flush() }

// List returns what the memories of texts hold, by client.
func (c *ClientTexts) List(ctx context.Context) ([]control.RememberedTexts, error) {
	clients, err := c.clients(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := c.store.List()
	list := []control.RememberedTexts{}
	of := map[string]int{}
	for _, k := range kept {
		key, has := clients[k.Client]
		if !has {
			continue // its key is being deleted
		}
		i, ok := of[k.Client]
		if !ok {
			i = len(list)
			of[k.Client] = i
			list = append(list, control.RememberedTexts{KeyID: key.ID, Key: key.Name})
		}
		list[i].Texts += k.Texts
		list[i].Tokens += k.Tokens
		list[i].Bytes += k.Bytes
		if k.Last.After(list[i].UsedAt) {
			list[i].UsedAt = k.Last
		}
	}
	return list, err
}

// clients returns the keys by their owners in package texts. Clients without one have the zero
// key.
func (c *ClientTexts) clients(ctx context.Context) (map[string]storage.Key, error) {
	keys, err := c.db.Keys(ctx)
	clients := map[string]storage.Key{textsClient(0): {}}
	for _, k := range keys {
		clients[textsClient(k.ID)] = k
	}
	return clients, err
}

// Sweep removes the memories of clients whose key is gone, for a process that ended before it
// could.
func (c *ClientTexts) Sweep(ctx context.Context) error {
	clients, err := c.clients(ctx)
	if err != nil {
		return err
	}
	gone := func(o texts.Owner) bool { _, has := clients[o.Client]; return !has }
	kept, err := c.store.List()
	if err == nil && slices.ContainsFunc(kept, func(k texts.Kept) bool { return gone(k.Owner) }) {
		_, err = c.store.Forget(func(o texts.Owner, _ texts.Origin) bool { return gone(o) })
	}
	return err
}

// textsOf chooses the texts of a scope. Each field that is not empty narrows it.
func textsOf(r control.ForgetRequest) texts.Which {
	return func(_ texts.Owner, from texts.Origin) bool {
		return (r.Model == "" || r.Model == from.Model) &&
			(r.Client == "" || r.Client == from.Client) &&
			(r.Day == "" || r.Day == from.Started.Local().Format(time.DateOnly))
	}
}

// WouldForget returns how many tokens Forget would remove, and the bytes of their files.
func (c *ClientTexts) WouldForget(r control.ForgetRequest) (tokens int, bytes int64, err error) {
	gone, err := c.store.Would(textsOf(r))
	return gone.Tokens, gone.Bytes, err
}

// Forget removes the texts of a scope from the memories of texts. Requests in flight add
// nothing to them any more.
func (c *ClientTexts) Forget(r control.ForgetRequest) (tokens int, bytes int64, err error) {
	gone, err := c.store.Forget(textsOf(r))
	return gone.Tokens, gone.Bytes, err
}

// ForgetRuns removes the texts of some runs likewise.
func (c *ClientTexts) ForgetRuns(runs []int64) error {
	of := map[int64]bool{}
	for _, id := range runs {
		of[id] = true
	}
	_, err := c.store.Forget(func(_ texts.Owner, from texts.Origin) bool { return of[from.Run] })
	return err
}

// ForgetKey removes the memories of the client with a key of that id, or of all clients
// without one for 0.
func (c *ClientTexts) ForgetKey(id int64) (tokens int, bytes int64, err error) {
	gone, err := c.store.Forget(func(o texts.Owner, _ texts.Origin) bool {
		return o.Client == textsClient(id)
	})
	return gone.Tokens, gone.Bytes, err
}

// hasKey reports whether there still is a key of that id; 0 is no key, and always there.
func (c *ClientTexts) hasKey(ctx context.Context, id int64) bool {
	if id == 0 {
		return true
	}
	has, err := c.db.HasKey(ctx, id)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("a request is not drafted from its client's texts", "key", id, "error", err)
	}
	return has && err == nil
}

// textsClient returns the owner in package texts of the client with a key of that id. Clients
// without a key, which is 0, are one.
func textsClient(key int64) string {
	if key == 0 {
		return ""
	}
	return strconv.FormatInt(key, 10)
}
