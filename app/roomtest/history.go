package roomtest

import (
	"context"
	"slices"

	"tandem/app/control"
)

// Runs records the query in Query.
func (f *Backend) Runs(_ context.Context, q control.RunQuery) ([]control.Run, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Query = q
	list := slices.Clone(f.Rows)
	slices.Reverse(list)
	for i := range list {
		list[i].Speculation = nil
	}
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	return list, nil
}

func (f *Backend) Divergence(context.Context, control.Run) *control.DivergenceText { return nil }

func (f *Backend) Activity(_ context.Context, minutes int, active []control.Active) (a control.Activity, err error) {
	return control.Activity{Seconds: minutes, Read: []float64{1}, Written: []float64{float64(len(active))}}, nil
}

func (f *Backend) Insights(context.Context) (i control.Insights, err error) { return i, nil }

func (f *Backend) RunTitles(context.Context, []control.Run) map[int64]string { return nil }

func (f *Backend) RunValues(context.Context) (v control.RunValues, err error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, r := range f.Rows {
		v.Models = append(v.Models, r.Model)
	}
	return v, nil
}

func (f *Backend) Forget(context.Context, control.ForgetRequest) (control.Forgotten, error) {
	return control.Forgotten{Runs: 1}, nil
}

func (f *Backend) WouldForget(
	_ context.Context, q control.ForgetRequest,
) (control.Forgotten, error) {
	f.Forgot = q
	return control.Forgotten{Runs: 2, Bytes: 700}, nil
}

func (f *Backend) ForgetTexts(_ context.Context, key int64) (control.Forgotten, error) {
	return control.Forgotten{Tokens: int(key)}, nil
}
