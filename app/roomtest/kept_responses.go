package roomtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tandem/app/control"
)

// keptResponses keeps responses in memory.
type keptResponses struct {
	mu               sync.Mutex
	KeptResponses    []control.KeptResponse
	ResponsesBroken  bool // it stores no response
	ResponsesRefused bool // no run in flight may store one
}

func (f *keptResponses) KeepResponse(_ context.Context, k control.KeptResponse) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ResponsesBroken {
		return errors.New("the disk is full")
	}
	if f.ResponsesRefused {
		return control.ErrNoResponse
	}
	f.KeptResponses = append(f.KeptResponses, k)
	return nil
}

func (f *keptResponses) find(owner, id string) int {
	return slices.IndexFunc(f.KeptResponses, func(k control.KeptResponse) bool {
		return k.ID == id &&
			k.Owner == owner
	})
}

func (f *keptResponses) Response(
	_ context.Context, owner, id string,
) (control.KeptResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(owner, id)
	if i < 0 {
		return control.KeptResponse{}, control.ErrNoResponse
	}
	return f.KeptResponses[i], nil
}

func (f *keptResponses) ResponseChain(ctx context.Context, owner,
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

func (f *keptResponses) DeleteResponse(_ context.Context, owner, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(owner, id)
	if i < 0 {
		return control.ErrNoResponse
	}
	f.KeptResponses = slices.Delete(f.KeptResponses, i, i+1)
	return nil
}
