package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tandem/engine"
	"tandem/engine/lm"
	"tandem/engine/mlx"
)

// controls returns an error if the identity arm says what the oracle does not. Then the machinery of
// restoration is wrong, whatever restores.
func (r *recall) controls(ctx context.Context, h haystack) error {
	var wrong []error
	for _, a := range r.arms {
		if a.name != armIdentity && a.name != exactLayers+armIdentity {
			continue
		}
		for i := range a.samples {
			why, err := r.differs(ctx, a, r.arms[0], i)
			if err != nil {
				return err
			}
			if why != "" {
				wrong = append(wrong, fmt.Errorf("%s, %s: sample %d is answered %q, and %q by the oracle: %s",
					h.name, a.name, i, a.samples[i].Text, r.arms[0].samples[i].Text, why))
			}
		}
	}
	return errors.Join(wrong...)
}

// differs says where an arm that must be equal to the oracle leaves its answer to a sample; empty if
// it does not. A bounded layer sums in another order. So a divergence is excused where the oracle's
// two best tokens are nearly equal. In 16 bits a sum differs by more, and it is enough that both
// find the needle or neither does.
func (e *subject) differs(ctx context.Context, a, oracle *recallArm, i int) (string, error) {
	if slices.Equal(a.ids[i], oracle.ids[i]) {
		return "", nil
	}
	if e.bundle.Model.Config().Dtype != mlx.Float32 &&
		*a.samples[i].Correct == *oracle.samples[i].Correct {
		return "", nil
	}
	u := umpire{e.thread, e.bundle.Model,
		func(m lm.Model) *engine.Engine { return e.open(m, engine.Options{}) }}
	d, err := u.judge(ctx, engine.Request{Prompt: oracle.prompts[i], Fresh: true,
		Seed: new(uint64(0))}, oracle.ids[i], a.ids[i])
	if err != nil || d.excused {
		return "", err
	}
	return d.String(), nil
}

// differsAnywhere is differs for all samples: it says where the first one does.
func (e *subject) differsAnywhere(ctx context.Context, a, oracle *recallArm) (string, error) {
	for i := range a.samples {
		if why, err := e.differs(ctx, a, oracle, i); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}
