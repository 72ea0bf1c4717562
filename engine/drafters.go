package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"tandem/engine/draft"
	"tandem/engine/mlx"
)

// drafters opens the drafts of tasks, feeds them and gives them up. All but list, noDrafter and
// without belongs to the scheduler's goroutine.
type drafters struct {
	thread *mlx.Thread
	caches cacheOptions
	log    *slog.Logger

	list      []draft.Drafter   // the preferred one first
	noDrafter string            // Options.NoDrafter
	without   map[string]string // Options.Without

	contexts contexts
}

// open begins the drafts of a task. A drafter that fails costs only itself.
func (ds *drafters) open(s *mlx.Scope, t *task) {
	t.drafts = make([]draft.Draft, len(ds.list))
	t.stats.Drafters = make([]DrafterStats, len(ds.list))
	for i, d := range ds.list {
		t.stats.Drafters[i].Name = d.Name()
	}
	if depth := t.req.Speculation.Depth; t.limit < 2 || depth != nil && *depth == 0 {
		return // the prompt gives the only token, or no round has drafts
	}
	for _, i := range ds.openingOrder() {
		d := ds.list[i]
		if !t.wants(d) && !ds.joins(t) {
			continue
		}
		ds.try(s, t, i, func() (err error) {
			lookups, trained := ds.parts(t, d)
			t.drafts[i], err = d.Open(s, draft.Options{
				Prompt:     t.tokens[:t.given],
				From:       t.fed,
				Context:    ds.restoreContext(s, t, i),
				Prediction: t.req.Prediction,
				Texts:      t.texts(),
				Sampler:    t.sampler,
				Caches:     ds.caches.ofDraft(t.maxPositions()),
				Lookups:    lookups,
				Trained:    trained,
				Target:     t.caches,
			})
			return err
		})
	}
}

// joins reports whether a task names a drafter that goes on from others. These are opened with it.
func (ds *drafters) joins(t *task) bool {
	return slices.ContainsFunc(ds.list, func(d draft.Drafter) bool {
		_, ok := d.(*draft.Continued)
		return ok && d.Name() == t.req.Speculation.Drafter
	})
}

// openingOrder returns the places of the drafters, each after those whose drafts it goes by.
func (ds *drafters) openingOrder() (order []int) {
	var last []int
	for i, d := range ds.list {
		switch d.(type) {
		case draft.Memory, *draft.Continued:
			last = append(last, i)
		default:
			order = append(order, i)
		}
	}
	return append(order, last...)
}

// parts returns the drafts of a task that d goes by, none for most drafters. They are open.
func (ds *drafters) parts(t *task, d draft.Drafter) (lookups []draft.Lookup, trained draft.Draft) {
	c, continues := d.(*draft.Continued)
	if _, remembers := d.(draft.Memory); !continues && !remembers {
		return nil, nil
	}
	for i, other := range ds.list {
		// What comes of a prediction is counted by its own draft.
		_, predicts := other.(draft.Prediction)
		if l, ok := t.drafts[i].(draft.Lookup); ok && !predicts {
			lookups = append(lookups, l)
		}
		if continues && other.Name() == c.Trained().Name() {
			trained = t.drafts[i]
		}
	}
	return lookups, trained
}

// try runs a step of one of the task's drafts. If it fails or panics, that draft is given up
// and the task goes on without it.
func (ds *drafters) try(s *mlx.Scope, t *task, i int, step func() error) error {
	err := s.Try(step)
	if err != nil {
		ds.drop(s, t, i, err)
	}
	return err
}

// drop ends a draft that failed.
func (ds *drafters) drop(s *mlx.Scope, t *task, i int, err error) {
	name := ds.list[i].Name()
	t.stats.NoDrafter = fmt.Sprintf("%s failed: %v", name, err)
	t.stats.Drafters[i].Failed = err.Error()
	ds.log.Error("drafting was given up for a request", "drafter", name, "error", err)
	if d := t.drafts[i]; d != nil {
		t.drafts[i] = nil
		t.countPrediction(d)
		d.Free(s)
	}
	ds.dropJoined(s, t, i, err)
}

// dropJoined ends what belongs to a draft that failed: a draft that went on from it, or the trained one
// that it let go on, whose state is not known. Their figures have the same reason.
func (ds *drafters) dropJoined(s *mlx.Scope, t *task, dropped int, failed error) {
	for i, d := range ds.list {
		c, ok := d.(*draft.Continued)
		if !ok {
			continue
		}
		if i != dropped {
			if t.drafts[i] != nil {
				t.drafts[i], t.stats.Drafters[i].Failed = nil, failed.Error()
			}
			continue
		}
		for j, other := range ds.list {
			if other.Name() == c.Trained().Name() && t.drafts[j] != nil {
				t.drafts[j].Free(s)
				t.drafts[j], t.stats.Drafters[j].Failed = nil, failed.Error()
			}
		}
	}
}

// dropPanicked gives up the draft that panicked when asked how much it has. If choosing between
// drafts panicked, asked is -1 and all are given up.
func (ds *drafters) dropPanicked(t *task, asked int, failed error) {
	err := ds.thread.Do(context.Background(), func(s *mlx.Scope) error {
		for i, d := range t.drafts {
			if d != nil && (asked < 0 || asked == i) {
				ds.drop(s, t, i, failed)
			}
		}
		return nil
	})
	if err != nil {
		ds.log.Error("letting go of a draft", "error", err)
	}
}

// catchUp lets one draft that has to catch up read on, beside the plain steps of its task: a
// restored text may be long. It reports whether one did. The next step is then not measured,
// because it had to wait.
func (ds *drafters) catchUp(active []*task) bool {
	for _, t := range active {
		for i, d := range t.drafts {
			f, ok := d.(draft.Follower)
			if !ok || !t.decoding() || f.Behind() == 0 {
				continue
			}
			err := work(ds.thread, func(s *mlx.Scope) error {
				return ds.try(s, t, i, func() error {
					f.Follow(s)
					return s.Eval(f.Arrays()...)
				})
			}, t)
			return err == nil
		}
	}
	return false
}

// A committed run is tokens that the target has evaluated and kept, with the outputs of the
// layers that drafts tap.
type committed struct {
	tokens  []int32
	from    int          // position of the first token
	layers  []int        // of outputs
	outputs []*mlx.Array // (rows, H) each
	row     int          // of the first token in outputs
}

// commit hands a committed run to the task's drafts.
func (ds *drafters) commit(s *mlx.Scope, t *task, c committed) {
	for i, d := range t.drafts {
		if d == nil {
			continue
		}
		taps := ds.list[i].Taps()
		ds.try(s, t, i, func() error {
			list := make([]*mlx.Array, len(taps))
			for j, layer := range taps {
				// Each draft gets slices of its own, which it may keep and free: the outputs
				// are the engine's, and another draft may tap the same layer.
				list[j] = s.Slice(c.outputs[slices.Index(c.layers, layer)], 0, c.row,
					c.row+len(c.tokens))
			}
			d.Committed(s, c.tokens, c.from, list)
			return nil
		})
	}
}

// taps lists the layers that some draft of the tasks taps, ascending.
func (ds *drafters) taps(tasks ...*task) []int {
	var taps []int
	for _, t := range tasks {
		for i, d := range t.drafts {
			if d != nil {
				taps = append(taps, ds.list[i].Taps()...)
			}
		}
	}
	slices.Sort(taps)
	return slices.Compact(taps)
}

// commitNewest commits the newest token, whose row the step in flight computes. The drafts have the
// last given token already.
func (ds *drafters) commitNewest(s *mlx.Scope, t *task) {
	if d := t.inFlight; len(t.tokens) > t.given {
		newest := len(t.tokens) - 1
		ds.commit(s, t, committed{tokens: t.tokens[newest:], from: newest, layers: d.layers,
			outputs: d.taps})
	}
}
