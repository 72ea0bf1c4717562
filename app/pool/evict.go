package pool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/app/control"
	"tandem/storage"
)

// besideContext is a context, in tokens, that an agent can work with: for the sake of a
// longer one, which nobody asked for, no idle model leaves the memory, unless it is the
// choice's, and where the memory does not have all of it, a part in besidePart is left
// for another model.
const (
	besideContext = 32 << 10
	besidePart    = 8
)

// A priority is how firmly a model is in memory.
type priority int

const (
	priorityIdle   priority = iota // nobody uses it now
	priorityUsed                   // something holds it: only for the choice its end is waited for, and nobody else gets it meanwhile
	priorityKept                   // it is to stay even if it is idle, see control.ModelSettings: only for the choice it goes
	priorityChosen                 // it is the choice
)

// A claim is what a model in memory has of it.
type claim struct {
	bytes    int64 // its weights and a whole context
	priority priority
	value    float64 // see worth
}

// worth is what it is worth, in seconds for each second, that an idle model stays: what
// its next load would take, spread over the time for which nobody used it. One that
// loads in two seconds and was used a minute ago goes before one that loads in ten and
// was used three minutes ago.
func worth(load, idle time.Duration) float64 {
	const least = time.Second // below it, which of them was used last is chance
	return max(load, time.Millisecond).Seconds() / max(idle, least).Seconds()
}

// victims returns those of the claims, by index, that have to go until what they leave of
// the room is enough: none that stays more firmly than most, the ones that are there
// least firmly first, of these the ones that are worth least, and none in vain. ok says
// whether it is enough then.
func victims(claims []claim, most priority, room int64, enough func(room int64) bool) (gone []int, ok bool) {
	var order []int
	for i, c := range claims {
		room -= c.bytes
		if c.priority <= most {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(claims[i].priority, claims[j].priority), cmp.Compare(claims[i].value, claims[j].value))
	})
	for _, i := range order {
		if enough(room) {
			break
		}
		gone = append(gone, i)
		room += claims[i].bytes
	}
	if !enough(room) {
		return nil, false
	}
	for n := len(gone) - 1; n >= 0; n-- {
		if bytes := claims[gone[n]].bytes; enough(room - bytes) {
			room -= bytes
			gone = slices.Delete(gone, n, n+1)
		}
	}
	return gone, true
}

// leftBeside returns what those leave of the room that stay more firmly than most.
func leftBeside(claims []claim, most priority, room int64) int64 {
	for _, c := range claims {
		if c.priority > most {
			room -= c.bytes
		}
	}
	return room
}

// An arrival says for what a model is loaded.
type arrival struct {
	wins    bool   // it is the choice, or becomes it: in the end all others go for it
	instead *Model // the choice before it, which it takes the place of; nil if there is none
}

// claim returns that of a model in memory. The caller holds a.mu.
func (p *Pool) claim(m *Model, r arrival) claim {
	c := claim{bytes: m.needs.bytes(), value: worth(m.took, time.Since(m.used))}
	switch {
	case m.row.ID == p.choice && !r.wins:
		c.priority = priorityChosen
	case m.own.KeepLoaded:
		c.priority = priorityKept
	case m.users > 0:
		c.priority = priorityUsed
	}
	return c
}

// checkMayLoad refuses a request for a model that is not in memory, where requests are to
// load no other than the chosen one. One that was renewed may take its own place.
func (p *Pool) checkMayLoad(row storage.Model, chosen bool) error {
	if chosen || p.settings.Current().LoadOnRequest != control.LoadNever {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inMemory(row.ID) != nil {
		return nil
	}
	return control.Plain(control.CodeNotLoaded, fmt.Sprintf("%s is not loaded: requests load no other model than the chosen one, which is %s (load_on_request is never). Ask for %s or %s, or choose %s in Tandem.",
		row.ID, p.choice, control.Alias, p.choice, row.ID))
}

// makeRoom sees to it that there is room for a model, which a.coming is, and returns
// what it will need, and the models that had to go for it. Error: CodeMemory if it does
// not fit this machine, CodeModelBusy and CodeNotLoaded if what is in memory stays;
// nothing was changed then.
func (p *Pool) makeRoom(ctx context.Context, row storage.Model, r arrival) (demand, []*Model, error) {
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

// evict takes out of the list what has to go for a model, once nobody uses it any
// more, and waits until what stays has room for no more than its own. The room of what
// goes is kept, as long as the model is coming: if it cannot be loaded, that comes back.
func (p *Pool) evict(ctx context.Context, row storage.Model, size loadable, asked int, r arrival) (demand, []*Model, error) {
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
		err = p.waitForMemory(ctx, row.ID, r.wins)
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

// plan returns what a model will need, and which have to go for it. The caller holds
// a.mu.
func (p *Pool) plan(row storage.Model, size loadable, asked int, r arrival) (need demand, gone []*Model, err error) {
	replace := p.settings.Current().LoadOnRequest == control.LoadReplace
	var others []*Model
	var claims []claim
	for _, m := range p.resident {
		switch {
		case m == r.instead && (!m.own.KeepLoaded || m.row.ID == row.ID):
		case m.row.ID == row.ID && m.users > 0 && r.instead == nil: // a switch waits
			return need, nil, control.Errorf(control.CodeModelBusy,
				"%s has changed, but what it was before is still answering requests; try again when it is idle.", control.Word(row.ID))
		case m.row.ID == row.ID:
		case replace && m.users > 0 && !r.wins:
			return need, nil, control.Errorf(control.CodeModelBusy,
				"The model %s is answering requests, so %s cannot take its place now; try again when it is idle.", control.Word(m.row.ID), control.Word(row.ID))
		case replace:
		default:
			others, claims = append(others, m), append(claims, p.claim(m, r))
			continue
		}
		gone = append(gone, m)
	}
	room, most := p.Room(), priorityIdle
	if r.wins {
		most = priorityKept
		// Its own context comes before models that nobody uses.
		own, _ := fit(size, asked, leftBeside(claims, priorityIdle, room))
		list, ok := victims(claims, priorityIdle, room, func(room int64) bool { return own.bytes() <= room })
		if ok && own.context >= min(besideContext, size.ContextLength) {
			for _, i := range list {
				gone = append(gone, others[i])
			}
			return own, gone, nil
		}
	}
	for _, least := range []int{min(besideContext, size.ContextLength), 0} {
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
	if !slices.ContainsFunc(claims, func(c claim) bool { return c.priority > most }) { // the pocket model, which is there so that something answers
		return need, append(gone, others...), nil
	}
	return need, nil, p.noPlace(row, need, left, others, claims)
}

// noPlace tells why a model is not loaded beside others, with the figures, and what to
// do. left is what those leave that stay. The caller holds a.mu.
func (p *Pool) noPlace(row storage.Model, need demand, left int64, others []*Model, claims []claim) error {
	why := map[priority]string{priorityUsed: "is answering requests", priorityKept: "is to stay in memory", priorityChosen: "is the chosen model"}
	var ids, stays []string
	for i, c := range claims {
		if c.priority == priorityIdle {
			continue // it would have gone
		}
		ids = append(ids, others[i].row.ID)
		stays = append(stays, fmt.Sprintf("%s, which has %s and %s", others[i].row.ID, control.GiB.Of(c.bytes), why[c.priority]))
	}
	return control.Plain(control.CodeNotLoaded, fmt.Sprintf(
		"%s cannot be loaded beside %s: it needs %s, %s for its weights and %s for a context of %s tokens, and of the %s that models may take %s are left beside %s. Choose %s in Tandem, which loads it in place of others, give one of them a shorter context, or ask for %s.",
		row.ID, strings.Join(ids, " and "), control.GiB.Of(need.bytes()), control.GiB.Of(need.weights), control.GiB.Of(need.text), control.Grouped(need.context),
		control.GiB.Of(p.Room()), control.GiB.Of(max(0, left)), strings.Join(stays, ", and "), row.ID, strings.Join(ids, " or ")))
}
