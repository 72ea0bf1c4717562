package eviction

import (
	"fmt"
	"slices"
	"strings"

	"tandem/app/control"
)

// A Want is a model that is to be loaded.
type Want struct {
	ID string
	Size

	// Current says that it is the current model, or becomes it, for which every other model may be
	// evicted. Replaces is the id of the current model in memory whose place it takes; "" = none.
	Current  bool
	Replaces string

	Always bool // it is loaded even if it does not fit, so that some model answers
}

// Load returns what a model will need, and the ids of the models to unload for it. These are idle, unless
// w.Current is set: then they get no new requests, and are unloaded after their answers. Errors:
// CodeNotLoaded if load_on_request is never, or if not enough may be evicted; CodeModelBusy; CodeMemory
// if the model does not fit this machine.
func (s State) Load(w Want) (n Need, unload []string, err error) {
	if err := s.Permit(w.ID, w.Current); err != nil {
		return n, nil, err
	}
	if n, err = s.Alone(w); err != nil {
		return n, nil, err
	}
	evicted, others, err := s.takePlace(w)
	if err != nil {
		return n, nil, err
	}
	n, more, err := s.makeRoom(w, others)
	if err != nil {
		return n, nil, err
	}
	for _, m := range append(evicted, more...) {
		unload = append(unload, m.ID)
	}
	return n, unload, nil
}

// Permit refuses a model that no request may load, with CodeNotLoaded. It needs no size, so it can be
// asked before the model's files are read.
func (s State) Permit(id string, current bool) error {
	// A model in memory whose files have changed may be loaded again.
	if s.LoadOnRequest != control.LoadNever || current || s.model(id) != nil {
		return nil
	}
	return control.Plain(control.CodeNotLoaded, fmt.Sprintf(
		"%s is not loaded, and requests may load no model but the current one, %s (load_on_request is never). "+
			"Ask for %s or %s, or choose %s in Tandem.", id, s.Current, control.Alias, s.Current, id))
}

// takePlace splits the models in memory into those that are evicted whether their memory is needed or
// not, and the others. Evicted are the current model that is replaced, the model itself if its files
// have changed, and all if load_on_request is replace. Error: CodeModelBusy.
func (s State) takePlace(w Want) (evicted, others []Model, err error) {
	replace := s.LoadOnRequest == control.LoadReplace
	for _, m := range s.Models {
		switch {
		case m.ID == w.Replaces && (!m.Kept || m.ID == w.ID):
		case m.ID == w.ID && m.Users > 0 && w.Replaces == "": // a switch waits instead
			return nil, nil, control.Errorf(control.CodeModelBusy,
				"%s has changed, but what it was before is still answering requests; try again when it is idle.",
				control.Word(w.ID))
		case m.ID == w.ID:
		case replace && m.Users > 0 && !w.Current:
			return nil, nil, control.Errorf(control.CodeModelBusy,
				"The model %s is answering requests, so %s cannot take its place now; try again when it is idle.",
				control.Word(m.ID), control.Word(w.ID))
		case replace:
		default:
			others = append(others, m)
			continue
		}
		evicted = append(evicted, m)
	}
	return evicted, others, nil
}

// makeRoom returns what a model will need, and which of the others are evicted for it, by the eviction
// rule. Error: CodeNotLoaded.
func (s State) makeRoom(w Want, others []Model) (n Need, evicted []Model, err error) {
	var claims []claim
	for _, m := range others {
		claims = append(claims, s.claim(m, w.Current))
	}
	chosen := func(list []int) (of []Model) {
		for _, i := range list {
			of = append(of, others[i])
		}
		return of
	}
	room, highest, agent := s.Room(), priorityIdle, min(agentContext, w.Context)
	if w.Current {
		highest = priorityKept
		// Evict idle models rather than cut its context.
		own, _ := w.Fit(leftBeside(claims, priorityIdle, room))
		list, ok := victims(claims, priorityIdle, room,
			func(room int64) bool { return own.Bytes() <= room })
		if ok && own.Context >= agent {
			return own, chosen(list), nil
		}
	}
	for _, minContext := range []int{agent, 0} { // the context of an agent if possible, else any
		enough := func(room int64) bool {
			n, ok := w.Fit(room)
			return ok && (w.Asked > 0 || n.Context >= minContext)
		}
		for p := priorityIdle; p <= highest; p++ {
			list, ok := victims(claims, p, room, enough)
			if !ok {
				continue
			}
			left := room
			for i, c := range claims {
				if !slices.Contains(list, i) {
					left -= c.bytes
				}
			}
			n, _ = w.Fit(left)
			return n, chosen(list), nil
		}
	}
	left := leftBeside(claims, highest, room)
	n, _ = w.Fit(left)
	if !slices.ContainsFunc(claims, func(c claim) bool { return c.priority > highest }) {
		return n, others, nil // only Want.Always: it does not even fit alone
	}
	return n, nil, s.noRoom(w.ID, n, left, others, claims)
}

// noRoom says why a model is not loaded beside others, with the figures, and what to do. left is the
// memory beside the models that stay, in bytes.
func (s State) noRoom(id string, n Need, left int64, others []Model, claims []claim) error {
	why := map[priority]string{
		priorityUsed: "answering requests", priorityKept: "set to stay",
		priorityCurrent: "the current model",
	}
	var ids, stays []string
	for i, c := range claims {
		if c.priority == priorityIdle {
			continue // it would have been evicted
		}
		ids = append(ids, others[i].ID)
		stays = append(stays, fmt.Sprintf("%s (%s, %s)", others[i].ID, control.GiB.Of(c.bytes),
			why[c.priority]))
	}
	return control.Plain(control.CodeNotLoaded, fmt.Sprintf(
		"%s needs %s, but only %s of the %s for models are left beside %s. "+
			"Choose %s in Tandem, which unloads others for it, give one of them a shorter context, or ask for %s.",
		id, n, control.GiB.Of(max(0, left)), control.GiB.Of(s.Room()),
		strings.Join(stays, " and "), id, strings.Join(ids, " or ")))
}
