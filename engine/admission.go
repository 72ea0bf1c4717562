package engine

// An admission decides which waiting request or reading is next, and whether there is room for it.
type admission struct {
	places        int // Options.Active
	contextLength int
	short         int                       // Options.Short
	sequenceBytes func(positions int) int64 // Options.SequenceBytes
	room          int64                     // Options.Room

	readingNext bool // where both wait, a reading is admitted next
}

// next removes the request or reading that is admitted now from its list, and returns it. Both are nil
// if there is no room.
//
// Where both wait, requests and readings take turns. The one whose turn it is keeps it until it
// fits, and all others wait. Two kinds may pass, because they take nothing that it waits for:
//
//   - short requests, into the memory and places reserved for them;
//   - the first reading, which needs no place, so that long answers cannot hold it up.
//
// Readings get at most half of the places: more would not be faster and would hold up answers.
func (a *admission) next(requests *waitList[*task], waiting *waitList[*reader], active []*task,
	readers []*reader) (*task, *reader) {
	if len(requests.list)+len(waiting.list) == 0 {
		return nil, nil
	}
	inFlight := map[string]int{}
	for _, t := range active {
		inFlight[t.client()]++
	}
	for _, r := range readers {
		inFlight[r.client()]++
	}
	taken := a.usage(active, readers)
	tasks, readings := requests.order(inFlight), waiting.order(inFlight)
	if len(readers) >= max(1, a.places/2) {
		readings = nil
	}
	var t *task
	var r *reader
	var both int64 // bytes
	entersTask, entersReading := false, false
	if len(tasks) > 0 {
		t = requests.list[tasks[0]]
		need := a.sequenceBytes(t.maxPositions())
		both += need
		entersTask = taken.places < a.places && taken.fits(need) || a.admitsShort(taken, t)
	}
	if len(readings) > 0 {
		r = waiting.list[readings[0]]
		need := a.sequenceBytes(r.longestText())
		both += need
		entersReading = (len(readers) == 0 || taken.places < a.places) && taken.fits(need)
	}
	switch {
	case entersReading && (t == nil || a.readingNext || !entersTask && taken.fits(both)):
		a.readingNext = false
		return nil, waiting.remove(readings[0])
	case entersTask && (r == nil || !a.readingNext):
		a.readingNext = true
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
func (a *admission) usage(active []*task, readers []*reader) usage {
	u := usage{
		alone: len(active)+len(readers) == 0, room: a.room,
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
	for _, r := range readers {
		u.all += a.sequenceBytes(r.longestText())
	}
	// Short requests in their own room and places do not count against others.
	u.all += max(u.short, u.kept)
	u.places = len(active) + len(readers) - min(u.shorts, MaxShort)
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
func (a *admission) reserved(active []*task, readers []*reader) (bytes int64) {
	for _, t := range active {
		bytes += a.sequenceBytes(t.maxPositions())
	}
	for _, t := range readers {
		bytes += a.sequenceBytes(t.longestText())
	}
	return bytes
}
