package settings

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
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
	KeyPrefix   = "tandem-" // marks a text as a key wherever it turns up
	maxKeyName  = 60        // runes
	maxKeys     = 100
	keyUseEvery = time.Minute // time between two records of a key's use
)

// Keys are the keys of the database, which every request looks up. They are safe for use by several
// goroutines.
type Keys struct {
	db       *storage.DB
	log      *slog.Logger
	settings *Store

	changing sync.Mutex // held during a change of keys, or of settings that need one

	onDelete func(id int64) error // see OnDelete

	mu   sync.RWMutex
	list []storage.Key
}

// hashKey returns the stored form of a key. A fast hash is enough, because a random key cannot be
// guessed.
func hashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Find looks up a key. It takes equally long for every key and for no key.
func (k *Keys) Find(secret string) (key storage.Key, ok bool) {
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

// FindKey returns the key with that secret, and records its use.
func (k *Keys) FindKey(secret string) (found control.Key, ok bool) {
	key, ok := k.Find(secret)
	if !ok {
		return found, false
	}
	if now := time.Now(); now.Sub(key.UsedAt) >= keyUseEvery {
		k.noteKey(key.ID, now)
	}
	return describeKey(key), true
}

// noteKey records that a key is used now.
func (k *Keys) noteKey(id int64, now time.Time) {
	k.mu.Lock()
	for i := range k.list {
		if k.list[i].ID == id {
			k.list[i].UsedAt = now.UTC()
		}
	}
	k.mu.Unlock()
	if err := k.db.UseKey(context.Background(), id); err != nil {
		k.log.Warn("cannot record the use of a key", "key", id, "error", err)
	}
}

// HasKeys reports whether there is any key.
func (k *Keys) HasKeys() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.list) > 0
}

// Keys lists the keys without their secrets.
func (k *Keys) Keys(context.Context) ([]control.Key, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	list := make([]control.Key, len(k.list))
	for i, key := range k.list {
		list[i] = describeKey(key)
	}
	return list, nil
}

func describeKey(k storage.Key) control.Key {
	return control.Key{ID: k.ID, Name: k.Name, CreatedAt: k.CreatedAt, UsedAt: k.UsedAt}
}

// AddKey makes a key and returns its secret, which is not stored. Error: CodeInvalid for a name that
// is empty, too long or taken, and if there are maxKeys already.
func (k *Keys) AddKey(ctx context.Context, r control.KeyRequest) (control.NewKey, error) {
	refuse := func(format string, args ...any) (control.NewKey, error) {
		return control.NewKey{}, &control.Error{Code: control.CodeInvalid, Param: "name",
			Message: fmt.Sprintf(format, args...)}
	}
	name := strings.TrimSpace(r.Name)
	if name == "" || utf8.RuneCountInString(name) > maxKeyName ||
		strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return refuse("name must say in 1 to %d signs whose key it is, such as Zed on the laptop.",
			maxKeyName)
	}
	k.changing.Lock()
	defer k.changing.Unlock()
	if len(k.list) >= maxKeys {
		return refuse("There are %d keys, and no more are possible; delete one that is not in use.",
			maxKeys)
	}
	secret := KeyPrefix + strings.ToLower(rand.Text())
	row, err := k.db.AddKey(context.WithoutCancel(ctx), name, hashKey(secret))
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Code == storage.Conflict {
		return refuse("There is a key %q already; choose another name.", name)
	}
	if err != nil {
		return control.NewKey{}, err
	}
	k.mu.Lock()
	k.list = append(slices.Clip(k.list), row)
	k.mu.Unlock()
	return control.NewKey{Key: describeKey(row), Secret: secret}, nil
}

// OnDelete has deleted called with the id of each key after it was deleted, when no request gets it
// any more. It is called before the keys are in use.
func (k *Keys) OnDelete(deleted func(id int64) error) { k.onDelete = deleted }

// DeleteKey deletes a key. Errors: CodeKeyNotFound; CodeInvalid for the last key while a setting
// needs one; CodeFolder if the key is gone, and OnDelete's function failed.
func (k *Keys) DeleteKey(ctx context.Context, id int64) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	k.mu.RLock() // a use may be recorded meanwhile
	i := slices.IndexFunc(k.list, func(x storage.Key) bool { return x.ID == id })
	name := ""
	if i >= 0 {
		name = k.list[i].Name
	}
	k.mu.RUnlock()
	if i < 0 {
		return control.Errorf(control.CodeKeyNotFound, "There is no key %d any more.", id)
	}
	if now, stored := k.settings.Current(), k.settings.Stored(); len(k.list) == 1 &&
		(now.Network || now.RequireKey || stored.Network || stored.RequireKey) {
		what := "programs on this machine need one"
		switch {
		case now.Network:
			what = "other machines may call"
		case stored.Network:
			what = "other machines may call once Tandem is started without what decides that now"
		}
		return control.Errorf(control.CodeInvalid,
			"%s is the last key, and %s; turn that off in the settings first, or make another key.",
			cmp.Or(name, "This"), what)
	}
	if err := k.db.DeleteKey(context.WithoutCancel(ctx), id); err != nil &&
		!storage.IsNotFound(err) {
		return err
	}
	k.mu.Lock()
	k.list = slices.Delete(slices.Clone(k.list), i, i+1)
	k.mu.Unlock()
	if k.onDelete == nil {
		return nil
	}
	if err := k.onDelete(id); err != nil {
		return &control.Error{Code: control.CodeFolder, Err: err, Message: fmt.Sprintf(
			"The key is deleted, but not what its texts left: %v. The next start deletes it.", err)}
	}
	return nil
}
