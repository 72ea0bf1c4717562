package server

import (
	"context"
	"encoding/json"
	"slices"

	"tandem/app/control"
)

// The fake records the filters of the history, and lists the models of its runs.

func (f *fakeBackend) Runs(_ context.Context, q control.RunQuery) ([]control.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.query = q
	list := slices.Clone(f.runs)
	slices.Reverse(list)
	for i := range list {
		list[i].Speculation = nil
	}
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	return list, nil
}

func (f *fakeBackend) Parting(context.Context, control.Run) *control.Parting { return nil }

func (f *fakeBackend) Activity(_ context.Context, minutes int, active []control.Active) (a control.Activity, err error) {
	return control.Activity{Seconds: minutes, Read: []float64{1}, Written: []float64{float64(len(active))}}, nil
}

func (f *fakeBackend) Insights(context.Context) (i control.Insights, err error) { return i, nil }

func (f *fakeBackend) RunValues(context.Context) (v control.RunValues, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.runs {
		v.Models = append(v.Models, r.Model)
	}
	return v, nil
}

func (f *fakeBackend) KeepVerdict(_ context.Context, v control.Replayed) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[v.Run-1].Verdict, err = json.Marshal(v)
	return err
}
