package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"tandem/app/control"
	"tandem/storage"
)

const (
	keyPrefix   = "tandem-" // so that a key is known for one where it turns up
	maxKeyName  = 60        // runes
	maxKeys     = 100
	keyUseEvery = time.Minute // between two notes of a key's use
)

// keys are those of the database, which are looked up with each request.
type keys struct {
	changing sync.Mutex // held by who changes them, or the settings that need one

	mu   sync.RWMutex
	list []storage.Key
}

func (a *App) openKeys(ctx context.Context) (err error) {
	a.keys.list, err = a.db.Keys(ctx)
	return err
}

// hashKey is what is kept of a key: it is random, so that nobody finds it by
// guessing, however fast the hash is.
func hashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// find looks a key up, and takes as long whichever it is, or none.
func (k *keys) find(secret string) (key storage.Key, ok bool) {
	hash := []byte(hashKey(secret))
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, x := range k.list {
		if subtle.ConstantTimeCompare([]byte(x.Hash), hash) == 1 {
			key, ok = x, true
		}
	}
	return key, ok
}

// FindKey implements server.Keys. The key counts as used.
func (a *App) FindKey(secret string) (name string, ok bool) {
	key, ok := a.keys.find(secret)
	if !ok {
		return "", false
	}
	if now := time.Now(); now.Sub(key.UsedAt) >= keyUseEvery {
		a.noteKey(key.ID, now)
	}
	return key.Name, true
}

// noteKey notes that a key is used.
func (a *App) noteKey(id int64, now time.Time) {
	k := &a.keys
	k.mu.Lock()
	for i := range k.list {
		if k.list[i].ID == id {
			k.list[i].UsedAt = now.UTC()
		}
	}
	k.mu.Unlock()
	if err := a.db.UseKey(context.Background(), id); err != nil {
		a.log.Warn("noting that a key was used", "key", id, "error", err)
	}
}

// HasKeys implements server.Keys.
func (a *App) HasKeys() bool {
	a.keys.mu.RLock()
	defer a.keys.mu.RUnlock()
	return len(a.keys.list) > 0
}

// Keys implements server.Keys.
func (a *App) Keys(context.Context) ([]control.Key, error) {
	a.keys.mu.RLock()
	defer a.keys.mu.RUnlock()
	list := make([]control.Key, len(a.keys.list))
	for i, k := range a.keys.list {
		list[i] = describeKey(k)
	}
	return list, nil
}

func describeKey(k storage.Key) control.Key {
	return control.Key{ID: k.ID, Name: k.Name, CreatedAt: k.CreatedAt, UsedAt: k.UsedAt}
}

// AddKey implements server.Keys.
func (a *App) AddKey(ctx context.Context, r control.KeyRequest) (control.NewKey, error) {
	refuse := func(format string, args ...any) (control.NewKey, error) {
		return control.NewKey{}, &control.Error{Code: control.CodeInvalid, Param: "name", Message: fmt.Sprintf(format, args...)}
	}
	name := strings.TrimSpace(r.Name)
	if name == "" || utf8.RuneCountInString(name) > maxKeyName || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return refuse("name must say in 1 to %d signs whose key it is, such as Zed on the laptop.", maxKeyName)
	}
	k := &a.keys
	k.changing.Lock()
	defer k.changing.Unlock()
	if len(k.list) >= maxKeys {
		return refuse("There are %d keys, the most there can be; delete one that nobody uses.", maxKeys)
	}
	secret := keyPrefix + strings.ToLower(rand.Text())
	row, err := a.db.AddKey(context.WithoutCancel(ctx), name, hashKey(secret))
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Code == storage.Conflict {
		return refuse("name %q is another key's; take another.", name)
	}
	if err != nil {
		return control.NewKey{}, err
	}
	k.mu.Lock()
	k.list = append(slices.Clip(k.list), row)
	k.mu.Unlock()
	return control.NewKey{Key: describeKey(row), Secret: secret}, nil
}

// DeleteKey implements server.Keys.
func (a *App) DeleteKey(ctx context.Context, id int64) error {
	k := &a.keys
	k.changing.Lock()
	defer k.changing.Unlock()
	k.mu.RLock() // a use may be noted meanwhile
	i := slices.IndexFunc(k.list, func(x storage.Key) bool { return x.ID == id })
	name := ""
	if i >= 0 {
		name = k.list[i].Name
	}
	k.mu.RUnlock()
	if i < 0 {
		return control.Errorf(control.CodeKeyNotFound, "There is no key %d any more.", id)
	}
	if now, kept := a.settings.current(), a.settings.kept(); len(k.list) == 1 && (now.Network || now.RequireKey || kept.Network || kept.RequireKey) {
		what := "programs on this machine need one"
		switch {
		case now.Network:
			what = "other machines may call"
		case kept.Network:
			what = "other machines may call once Tandem is started without what decides that now"
		}
		return control.Errorf(control.CodeInvalid, "%s is the last key, and %s; turn that off first, or make another key.", cmp.Or(name, "This"), what)
	}
	if err := a.db.DeleteKey(context.WithoutCancel(ctx), id); err != nil && !storage.IsNotFound(err) {
		return err
	}
	k.mu.Lock()
	k.list = slices.Delete(slices.Clone(k.list), i, i+1)
	k.mu.Unlock()
	return nil
}
