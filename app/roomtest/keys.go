package roomtest

import (
	"context"
	"sync"

	"tandem/app/control"
)

// Key is the key of "zed".
const Key = "tandem-zed"

// keys has that key while Keyed is true.
type keys struct {
	mu    sync.Mutex
	Keyed bool
}

func (f *keys) Keys(context.Context) ([]control.Key, error) {
	if !f.HasKeys() {
		return nil, nil
	}
	return []control.Key{{ID: 1, Name: "zed"}}, nil
}

func (f *keys) AddKey(_ context.Context, r control.KeyRequest) (control.NewKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Keyed = true
	return control.NewKey{Key: control.Key{ID: 1, Name: r.Name}, Secret: Key}, nil
}

func (f *keys) DeleteKey(_ context.Context, id int64) error {
	if id != 1 {
		return control.Errorf(control.CodeKeyNotFound, "There is no key %d.", id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Keyed = false
	return nil
}

func (f *keys) FindKey(secret string) (key control.Key, ok bool) {
	return control.Key{ID: 1, Name: "zed"}, f.HasKeys() && secret == Key
}

func (f *keys) HasKeys() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Keyed
}
