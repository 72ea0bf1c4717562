package engine

// An admission decides which waiting request to generate or encode is next, and whether there is room for it.
type admission struct {
	places        int // Options.Active
	contextLength int
	short         int                       // Options.Short
	sequenceBytes func(positions int) int64 // Options.SequenceBytes
	room          int64                     // Options.Room

	encodeNext bool // where both wait, an encode request is admitted next
}

// next removes the request to generate or encode that is admitted now from its list, and returns it. Both are nil
// if there is no room.
//
// Where both wait, requests to generate or encode take turns. The one whose turn it is keeps it until it
// fits, and all others wait. Two kinds may pass, because they take nothing that it waits for:
//
//   - short requests, into the memory and places reserved for them;
//   - the first encode request, which needs no place, so that long answers cannot hold it up.
//
// Encode requests get at most half of the places: more would not be faster and would hold up answers.
func (a *admission) next(requests *waitList[*task], waiting *waitList[*encodeTask], active []*task,
	encoding []*encodeTask) (*task, *encodeTask) {
	if len(requests.list)+len(waiting.list) == 0 {
		return nil, nil
	}
	inFlight := map[string]int{}
	for _, t := range active {
		inFlight[t.client()]++
	}
	for _, r := range encoding {
		inFlight[r.client()]++
	}
	taken := a.usage(active, encoding)
	tasks, encodes := requests.order(inFlight), waiting.order(inFlight)
	if len(encoding) >= max(1, a.places/2) {
		encodes = nil
	}
	var t *task
	var r *encodeTask
	var both int64 // bytes
	entersTask, entersEncode := false, false
	if len(tasks) > 0 {
		t = requests.list[tasks[0]]
		need := a.sequenceBytes(t.maxPositions())
		both += need
		entersTask = taken.places < a.places && taken.fits(need) || a.admitsShort(taken, t)
	}
	if len(encodes) > 0 {
		r = waiting.list[encodes[0]]
		need := a.sequenceBytes(r.maxPositions())
		both += need
		entersEncode = (len(encoding) == 0 || taken.places < a.places) && taken.fits(need)
	}
	switch {
	case entersEncode && (t == nil || a.encodeNext || !entersTask && taken.fits(both)):
		a.encodeNext = false
		return nil, waiting.remove(encodes[0])
	case entersTask && (r == nil || !a.encodeNext):
		a.encodeNext = true
		return requests.remove(tasks[0]), nil
	}
	for _, i := range tasks {
		if a.admitsShort(taken, requests.list[i]) {
			return requests.remove(i), nil
		}
	}
	return nil, nil
}

// A usage is what those in flight take, or may come to take.
type usage struct {
	alone  bool  // nothing is in flight
	places int   // taken, without those of short requests
	shorts int   // short requests
	all    int64 // bytes of texts, with the room reserved for short ones
	short  int64 // bytes of short ones
	kept   int64 // bytes reserved for short ones
	room   int64 // bytes for all
}

// usage returns what those in flight take.
func (a *admission) usage(active []*task, encoding []*encodeTask) usage {
	u := usage{
		alone: len(active)+len(encoding) == 0, room: a.room,
		kept: min(a.sequenceBytes(a.short), max(0, a.room-a.sequenceBytes(a.contextLength))),
	}
	for _, t := range active {
		if n := a.sequenceBytes(t.maxPositions()); t.maxPositions() <= a.short {
			u.short += n
			u.shorts++
		} else {
			u.all += n
		}
	}
	for _, r := range encoding {
		u.all += a.sequenceBytes(r.maxPositions())
	}
	// Short requests in their own room and places do not count against others.
	u.all += max(u.short, u.kept)
	u.places = len(active) + len(encoding) - min(u.shorts, MaxShort)
	return u
}

// fits reports whether there is room for that many more bytes. Whoever is alone has room.
func (u usage) fits(bytes int64) bool { return u.alone || u.all+bytes <= u.room }

// admitsShort reports whether a request may pass others as a short one: it fits into the memory
// reserved for short ones, and there is a place, theirs or another.
func (a *admission) admitsShort(u usage, t *task) bool {
	n := t.maxPositions()
	place := u.shorts < MaxShort || u.places < a.places
	return n <= a.short && place && u.short+a.sequenceBytes(n) <= u.kept
}

// reserved returns the bytes that those in flight may come to take.
func (a *admission) reserved(active []*task, encoding []*encodeTask) (bytes int64) {
	for _, t := range active {
		bytes += a.sequenceBytes(t.maxPositions())
	}
	for _, t := range encoding {
		bytes += a.sequenceBytes(t.maxPositions())
	}
	return bytes
}
