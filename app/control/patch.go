package control

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// NewPatch returns the merge patch (RFC 7396) that turns one JSON object into another, nil if they
// are equal.
func NewPatch(before, after []byte) ([]byte, error) {
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	return patch, nil
}

// A Follower keeps the latest state of a stream. The first event is a whole state. Each event after
// it is a merge patch, with a rev that is one more.
type Follower struct {
	whole []byte
	rev   int64
}

// Next takes an event and returns the state after it. It fails if an event was lost.
func (f *Follower) Next(event []byte) (st State, err error) {
	next := event
	if f.whole != nil {
		if next, err = jsonpatch.MergePatch(f.whole, event); err != nil {
			return st, fmt.Errorf("the state's patch: %w", err)
		}
	}
	if err := json.Unmarshal(next, &st); err != nil {
		return st, fmt.Errorf("the state: %w", err)
	}
	if f.whole != nil && st.Rev != f.rev+1 {
		return st, fmt.Errorf("the state went from revision %d to %d", f.rev, st.Rev)
	}
	f.whole, f.rev = bytes.Clone(next), st.Rev
	return st, nil
}
