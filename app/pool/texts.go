package pool

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/engine"
	"tandem/engine/texts"
	"tandem/engine/tokenizer"
)

// TextFolder is the folder of the memories of texts in the home folder. Only the owner may read it,
// as with checkpoints, and backups leave it out.
const TextFolder = "texts"

// textsIdle is after how long without a request a client's memory of texts leaves the process.
const textsIdle = 10 * time.Minute

// remember has the engine use and extend the client's memory of texts. It is opened when the
// generation begins, and closed when it has ended.
func (m *Model) remember(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	if m.pool.opts.NoCheckpoints || r.Fresh {
		return m.generate(ctx, r)
	}
	return func(yield func(engine.Token, error) bool) {
		owner, client := textsOwner(r.Client)
		owner.Tokenizer = m.tokenizerKey()
		r.Texts = m.pool.texts.Open(owner,
			texts.Origin{Model: m.row.ID, Client: client, Run: r.Run, Started: time.Now()})
		defer r.Texts.Close()
		for t, err := range m.generate(ctx, r) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// keyPrefix begins the name of a client with a key; see wire.ClientOf.
const keyPrefix = "key "

// textsOwner returns whose memory the requests of a client go by, without the tokenizer, and the
// client's name in the history. Clients without a key are one.
func textsOwner(client string) (o texts.Owner, name string) {
	if key, ok := strings.CutPrefix(client, keyPrefix); ok {
		return texts.Owner{Client: client}, key
	}
	return texts.Owner{}, strings.TrimPrefix(client, "name ")
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
func (p *Pool) Texts() ([]control.RememberedTexts, error) {
	kept, err := p.texts.List()
	list := []control.RememberedTexts{}
	of := map[string]int{}
	for _, k := range kept {
		i, ok := of[k.Client]
		if !ok {
			i = len(list)
			of[k.Client] = i
			list = append(list, control.RememberedTexts{Key: strings.TrimPrefix(k.Client, keyPrefix)})
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

// ForgetTextsOfKey removes the memories of the client with a key of that name.
func (p *Pool) ForgetTextsOfKey(name string) error {
	_, err := p.texts.Forget(func(o texts.Owner, _ texts.Origin) bool {
		return o.Client == keyPrefix+name
	})
	return err
}
