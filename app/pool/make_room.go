package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/storage"
)

// An arrival says for whom a model is loaded.
type arrival struct {
	isChoice bool   // it is the choice, or becomes it: in the end all others leave for it
	replaces *Model // the choice before it, whose place it takes; nil if there is none
}

// claim returns the claim of a model in memory. The caller holds p.mu.
func (p *Pool) claim(m *Model, r arrival) claim {
	c := claim{bytes: m.needs.bytes(), value: worth(m.took, time.Since(m.used))}
	switch {
	case m.row.ID == p.choice && !r.isChoice:
		c.priority = priorityChosen
	case m.own.KeepLoaded:
		c.priority = priorityKept
	case m.users > 0:
		c.priority = priorityUsed
	}
	return c
}

// checkMayLoad refuses a request for a model that is not in memory, if load_on_request is never and
// the model is not the choice. A renewed model may take its own place.
func (p *Pool) checkMayLoad(row storage.Model, chosen bool) error {
	if chosen || p.settings.Current().LoadOnRequest != control.LoadNever {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inMemory(row.ID) != nil {
		return nil
	}
	return control.Plain(control.CodeNotLoaded, fmt.Sprintf(
		"%s is not loaded, and requests may load no model but the chosen one, %s (load_on_request is never). "+
			"Ask for %s or %s, or choose %s in Tandem.",
		row.ID, p.choice, control.Alias, p.choice, row.ID))
}

// makeRoom frees memory for the model in p.loading. It returns what the model needs, and the models
// that left for it. Errors: CodeMemory if the model does not fit this machine; CodeModelBusy and
// CodeNotLoaded if the models in memory stay. After these nothing is changed. If the memory of
// models cannot be freed, they are gone.
func (p *Pool) makeRoom(ctx context.Context, row storage.Model,
	r arrival) (demand, []*Model, error) {
	size, asked, err := p.sizeOf(p.life, row)
	if err != nil {
		return demand{}, nil, err
	}
	if _, err := p.fitsAlone(row, size, asked); err != nil {
		return demand{}, nil, err
	}
	need, gone, err := p.evict(ctx, row, size, asked, r)
	if err != nil {
		return demand{}, nil, err
	}
	for _, m := range gone {
		p.log.Info("a model leaves the memory for another", "model", m.row.ID, "for", row.ID)
	}
	if err := closeAll(gone); err != nil {
		return demand{}, nil, fmt.Errorf("make room for %s: %w", row.ID, err)
	}
	return need, gone, nil
}

// evict takes models off the list once no request holds them, and waits until the texts of the
// others fit beside the new model. The memory of the evicted models stays reserved while the new
// model is loaded: if the load fails, they come back.
func (p *Pool) evict(ctx context.Context, row storage.Model, size loadable, asked int,
	r arrival) (demand, []*Model, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	need, gone, err := p.plan(row, size, asked, r)
	if err != nil {
		return demand{}, nil, err
	}
	before := slices.Clone(p.resident)
	for _, m := range gone {
		m.leaving = true
	}
	for _, m := range gone {
		if err == nil {
			err = p.waitUntilUnused(ctx, m)
		}
	}
	if err == nil {
		p.remove(gone)
		var back demand
		for _, m := range gone {
			back.weights += m.needs.weights
			back.text += m.needs.text
		}
		if p.loading.needs = need; back.bytes() > need.bytes() {
			p.loading.needs = back
		}
		p.divideMemory()
		err = p.waitForMemory(ctx, row.ID, r.isChoice)
	}
	if err == nil {
		return need, gone, nil
	}
	for _, m := range gone {
		m.leaving = false
		p.applySettings(m)
	}
	p.resident, p.loading.needs = before, demand{}
	p.divideMemory()
	return demand{}, nil, err
}

// waitUntilUnused waits until no request holds a model. A change is in progress and the model is
// marked as leaving, so that no new request gets it. The caller holds p.mu, now and afterwards.
func (p *Pool) waitUntilUnused(ctx context.Context, m *Model) error {
	for m.users > 0 {
		released := make(chan struct{})
		m.released = released
		if err := waitUnlocked(ctx, p, released); err != nil {
			return err
		}
	}
	return nil
}

// over returns a model whose texts in flight take more than its share beside a coming model, nil if
// there is none. The caller holds p.mu.
func (p *Pool) over(coming demand) *Model {
	for i, room := range p.textShares(p.resident, coming) {
		if p.resident[i].engine.Reserved() > room {
			return p.resident[i]
		}
	}
	return nil
}

// waitForMemory waits until the texts in flight fit beside the model in p.loading. Texts let in
// under the division before have to end. Only for the choice it waits without a limit. Error:
// CodeModelBusy. The caller holds p.mu, now and afterwards.
func (p *Pool) waitForMemory(ctx context.Context, id string, isChoice bool) error {
	begun := time.Now()
	for m := p.over(p.loading.needs); m != nil; m = p.over(p.loading.needs) {
		if !isChoice && time.Since(begun) > p.patience {
			return control.Errorf(control.CodeModelBusy,
				"The memory that %s needs is taken by requests that %s is answering; try again when they have ended, or ask for shorter answers (max_tokens).",
				control.Word(id), control.Word(m.row.ID))
		}
		if err := waitUnlocked(ctx, p, time.After(memoryPoll)); err != nil {
			return err
		}
	}
	return nil
}

// plan returns what a model will need, and which models have to leave for it. The caller holds
// p.mu.
func (p *Pool) plan(row storage.Model, size loadable, asked int,
	r arrival) (need demand, gone []*Model, err error) {
	replace := p.settings.Current().LoadOnRequest == control.LoadReplace
	var others []*Model
	var claims []claim
	for _, m := range p.resident {
		switch {
		case m == r.replaces && (!m.own.KeepLoaded || m.row.ID == row.ID):
		case m.row.ID == row.ID && m.users > 0 && r.replaces == nil: // a switch waits instead
			return need, nil, control.Errorf(control.CodeModelBusy,
				"%s has changed, but what it was before is still answering requests; try again when it is idle.",
				control.Word(row.ID))
		case m.row.ID == row.ID:
		case replace && m.users > 0 && !r.isChoice:
			return need, nil, control.Errorf(control.CodeModelBusy,
				"The model %s is answering requests, so %s cannot take its place now; try again when it is idle.",
				control.Word(m.row.ID), control.Word(row.ID))
		case replace:
		default:
			others, claims = append(others, m), append(claims, p.claim(m, r))
			continue
		}
		gone = append(gone, m)
	}
	room, most := p.Room(), priorityIdle
	if r.isChoice {
		most = priorityKept
		// The context that the choice has alone comes before idle models.
		own, _ := fit(size, asked, leftBeside(claims, priorityIdle, room))
		list, ok := victims(claims, priorityIdle, room,
			func(room int64) bool { return own.bytes() <= room })
		if ok && own.context >= min(agentContext, size.ContextLength) {
			for _, i := range list {
				gone = append(gone, others[i])
			}
			return own, gone, nil
		}
	}
	for _, least := range []int{min(agentContext, size.ContextLength), 0} {
		enough := func(room int64) bool {
			d, ok := fit(size, asked, room)
			return ok && (asked > 0 || d.context >= least)
		}
		for firm := priorityIdle; firm <= most; firm++ {
			list, ok := victims(claims, firm, room, enough)
			if !ok {
				continue
			}
			left := room
			for i, c := range claims {
				if slices.Contains(list, i) {
					gone = append(gone, others[i])
				} else {
					left -= c.bytes
				}
			}
			need, _ = fit(size, asked, left)
			return need, gone, nil
		}
	}
	left := leftBeside(claims, most, room)
	need, _ = fit(size, asked, left)
	// the pocket model: it is loaded always, so that some model answers
	if !slices.ContainsFunc(claims, func(c claim) bool { return c.priority > most }) {
		return need, append(gone, others...), nil
	}
	return need, nil, p.noRoomError(row, need, left, others, claims)
}

// noRoomError says why a model is not loaded beside others, with the figures, and what to do. left
// is the memory beside the models that stay, in bytes. The caller holds p.mu.
func (p *Pool) noRoomError(row storage.Model, need demand, left int64, others []*Model,
	claims []claim) error {
	why := map[priority]string{
		priorityUsed: "answering requests", priorityKept: "set to stay",
		priorityChosen: "the chosen model",
	}
	var ids, stays []string
	for i, c := range claims {
		if c.priority == priorityIdle {
			continue // it would have left
		}
		ids = append(ids, others[i].row.ID)
		stays = append(stays, fmt.Sprintf("%s (%s, %s)", others[i].row.ID, control.GiB.Of(c.bytes),
			why[c.priority]))
	}
	return control.Plain(control.CodeNotLoaded, fmt.Sprintf(
		"%s needs %s, but only %s of the %s for models are left beside %s. "+
			"Choose %s in Tandem, which unloads others for it, give one of them a shorter context, or ask for %s.",
		row.ID, need, control.GiB.Of(max(0, left)), control.GiB.Of(p.Room()),
		strings.Join(stays, " and "), row.ID, strings.Join(ids, " or ")))
}
