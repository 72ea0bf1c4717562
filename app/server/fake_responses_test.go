package server

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tandem/app/control"
)

// fakeResponses keeps responses in memory.
type fakeResponses struct {
	mu      sync.Mutex
	kept    []control.KeptResponse
	broken  bool // it stores no response
	refuses bool // no run in flight may store one
}

func (f *fakeResponses) KeepResponse(_ context.Context, k control.KeptResponse) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("the disk is full")
	}
	if f.refuses {
		return control.ErrNoResponse
	}
	f.kept = append(f.kept, k)
	return nil
}

func (f *fakeResponses) find(owner, id string) int {
	return slices.IndexFunc(f.kept, func(k control.KeptResponse) bool {
		return k.ID == id &&
			k.Owner == owner
	})
}

func (f *fakeResponses) Response(
	_ context.Context, owner, id string,
) (control.KeptResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(owner, id)
	if i < 0 {
		return control.KeptResponse{}, control.ErrNoResponse
	}
	return f.kept[i], nil
}

func (f *fakeResponses) ResponseChain(ctx context.Context, owner,
	id string) (list []control.KeptResponse, err error) {
	for id != "" {
		k, err := f.Response(ctx, owner, id)
		if err != nil {
			return nil, err
		}
		list, id = append(list, k), k.Previous
	}
	slices.Reverse(list)
	return list, nil
}

func (f *fakeResponses) DeleteResponse(_ context.Context, owner, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(owner, id)
	if i < 0 {
		return control.ErrNoResponse
	}
	f.kept = slices.Delete(f.kept, i, i+1)
	return nil
}
