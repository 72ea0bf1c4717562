package roomtest

import (
	"context"
	"encoding/json"
	"errors"

	"tandem/app/control"
)

func (f *Backend) BeginRun(_ context.Context, r control.Run) (int64, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	r.ID = int64(len(f.Rows) + 1)
	f.Rows = append(f.Rows, r)
	return r.ID, nil
}

func (f *Backend) FinishRun(ctx context.Context, r control.Run) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !f.Rows[r.ID-1].EndedAt.IsZero() {
		return errors.New("finished twice")
	}
	f.Rows[r.ID-1] = r
	f.finished.Broadcast()
	return nil
}

func (f *Backend) DropRun(_ context.Context, id int64) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if !f.Rows[id-1].EndedAt.IsZero() {
		return errors.New("finished, and dropped")
	}
	f.Dropped = append(f.Dropped, id)
	return nil
}

func (f *Backend) Run(_ context.Context, id int64) (control.Run, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if id < 1 || id > int64(len(f.Rows)) {
		return control.Run{}, control.Errorf(control.CodeRunNotFound,
			"There is no run %d in the history.", id)
	}
	return f.Rows[id-1], nil
}

// LastRun waits for the newest row to be finished.
func (f *Backend) LastRun() control.Run {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for f.Rows[len(f.Rows)-1].EndedAt.IsZero() {
		f.finished.Wait()
	}
	return f.Rows[len(f.Rows)-1]
}

func (f *Backend) KeepVerdict(_ context.Context, v control.Replayed) (err error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Rows[v.Run-1].Verdict, err = json.Marshal(v)
	return err
}

func (f *Backend) SetRunText(_ context.Context, t control.RunText) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Texts == nil {
		f.Texts = map[int64]control.RunText{}
	}
	if f.Asked == nil {
		f.Asked = map[int64]json.RawMessage{}
	}
	f.Texts[t.Run] = t
	if t.Request != nil {
		f.Asked[t.Run] = t.Request
	}
	return nil
}

func (f *Backend) RunText(_ context.Context, run int64) (control.RunText, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	t, ok := f.Texts[run]
	if !ok {
		return t, control.Errorf(control.CodeNotKept, "The text of run %d was not kept.", run)
	}
	return t, nil
}

func (f *Backend) RunCheckpoint(_ context.Context, run int64) ([]int32, error) {
	if f.Left == nil {
		return nil, control.Errorf(control.CodeNotKept, "Run %d left no checkpoint.", run)
	}
	return f.Left, nil
}

func (f *Backend) ResumedBy(_ context.Context, run int64) (by int64, err error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, r := range f.Rows {
		if r.Resumes == run {
			by = r.ID
		}
	}
	return by, nil
}
