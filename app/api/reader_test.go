package api

import (
	"context"
	"errors"
	"tandem/app/modeltest"
	"testing"
)

// The intake tokenizes nothing for a client that left.
func TestIntakeStopsWhenClientLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	in := &Intake{ctx: ctx, Model: &modeltest.Fake{Context: 8}}
	if err := in.Add("input", []int32{1}, nil); err != nil {
		t.Error(err)
	}
	leave()
	if err := in.Add("input", []int32{1}, nil); !errors.Is(err, context.Canceled) ||
		len(in.texts) != 1 {
		t.Errorf("after the client left: %v", err)
	}
}
