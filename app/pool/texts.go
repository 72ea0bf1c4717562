package pool

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"slices"
	"strconv"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/texts"
	"tandem/engine/tokenizer"
	"tandem/storage"
)

// TextFolder is the folder of the memories of texts in the home folder. Only the owner may read it,
// as with checkpoints, and backups leave it out.
const TextFolder = "texts"

// textsIdle is after how long without a request a client's memory of texts leaves the process.
const textsIdle = 10 * time.Minute

// remember has the engine use and extend the author's memory of texts, if the author is known. It is
// opened when the generation begins, and closed when it has ended. A later key never gets what a
// deleted one left: ids of keys are not used again, and a request that was there at the deletion, or
// at another call of ForgetTexts, adds nothing.
func (m *Model) remember(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	by, known := model.AuthorOf(ctx)
	if !known || m.pool.opts.NoCheckpoints || r.Fresh {
		return m.generate(ctx, r)
	}
	return func(yield func(engine.Token, error) bool) {
		if m.pool.hasKey(ctx, by.Key) {
			r.Texts = m.pool.texts.OpenSince(
				texts.Owner{Client: textsClient(by.Key), Tokenizer: m.tokenizerKey()},
				texts.Origin{Model: m.row.ID, Client: by.Client, Run: by.Run, Started: by.Arrived},
				by.Arrived)
			defer r.Texts.Close()
		}
		for t, err := range m.generate(ctx, r) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// hasKey reports whether there still is a key of that id; 0 is no key, and always there.
func (p *Pool) hasKey(ctx context.Context, id int64) bool {
	if id == 0 {
		return true
	}
	has, err := p.db.HasKey(ctx, id)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("a request is not drafted from its client's texts", "key", id, "error", err)
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

// tokenizerHash returns a key that differs between tokenizers whose tokens differ.
func tokenizerHash(tokens *tokenizer.Tokenizer) string {
	h := sha256.New()
	var size [4]byte
	for id := range int32(tokens.Size()) {
		token := tokens.TokenBytes(id)
		binary.LittleEndian.PutUint32(size[:], uint32(len(token)))
		h.Write(size[:])
		h.Write(token)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Texts returns what the memories of texts hold, by client.
func (p *Pool) Texts(ctx context.Context) ([]control.RememberedTexts, error) {
	clients, err := p.textsClients(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := p.texts.List()
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

// textsClients returns the keys by their owners in package texts. Clients without one have the zero
// key.
func (p *Pool) textsClients(ctx context.Context) (map[string]storage.Key, error) {
	keys, err := p.db.Keys(ctx)
	clients := map[string]storage.Key{textsClient(0): {}}
	for _, k := range keys {
		clients[textsClient(k.ID)] = k
	}
	return clients, err
}

// SweepTexts removes the memories of clients whose key is gone, for a process that ended before it
// could.
func (p *Pool) SweepTexts(ctx context.Context) error {
	clients, err := p.textsClients(ctx)
	if err != nil {
		return err
	}
	gone := func(o texts.Owner) bool { _, has := clients[o.Client]; return !has }
	kept, err := p.texts.List()
	if err == nil && slices.ContainsFunc(kept, func(k texts.Kept) bool { return gone(k.Owner) }) {
		_, err = p.texts.Forget(func(o texts.Owner, _ texts.Origin) bool { return gone(o) })
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

// WouldForgetTexts returns how many tokens ForgetTexts would remove, and the bytes of their files.
func (p *Pool) WouldForgetTexts(r control.ForgetRequest) (tokens int, bytes int64, err error) {
	gone, err := p.texts.Would(textsOf(r))
	return gone.Tokens, gone.Bytes, err
}

// ForgetTexts removes the texts of a scope from the memories of texts. Requests in flight add
// nothing to them any more.
func (p *Pool) ForgetTexts(r control.ForgetRequest) (tokens int, bytes int64, err error) {
	gone, err := p.texts.Forget(textsOf(r))
	return gone.Tokens, gone.Bytes, err
}

// ForgetTextsOfRuns removes the texts of some runs likewise.
func (p *Pool) ForgetTextsOfRuns(runs []int64) error {
	of := map[int64]bool{}
	for _, id := range runs {
		of[id] = true
	}
	_, err := p.texts.Forget(func(_ texts.Owner, from texts.Origin) bool { return of[from.Run] })
	return err
}

// ForgetTextsOfKey removes the memories of the client with a key of that id, or of all clients
// without one for 0.
func (p *Pool) ForgetTextsOfKey(id int64) (tokens int, bytes int64, err error) {
	gone, err := p.texts.Forget(func(o texts.Owner, _ texts.Origin) bool {
		return o.Client == textsClient(id)
	})
	return gone.Tokens, gone.Bytes, err
}
