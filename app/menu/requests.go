package menu

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tandem/app/control"
)

// requests fills the rows of the requests in flight, each with a row to stop it. A request keeps
// its rows; new ones take free rows, the oldest first.
func (m *Menu) requests(before *Menu, v View) {
	st := v.State
	ids := make([]string, len(st.Active))
	for i, a := range st.Active {
		ids[i] = strconv.FormatInt(a.RunID, 10)
	}
	places := assignSlots(before.abouts(Requests+StopRun, maxRequests, requestRows), ids)
	for i, a := range st.Active {
		if places[i] < 0 {
			continue
		}
		row := Requests + Slot(places[i])*requestRows
		m.open(row, control.ClientName(a.Client)+": "+doing(a, v.Left[a.RunID]))
		m.showAction(row+ShowRun, "Show Run", OpenWindow, "#/runs/"+ids[i])
		m.showAction(row+StopRun, "Stop", StopRuns, ids[i])
	}
	switch n := len(ids); {
	case n == 1:
		m.showAction(StopAll, "Stop", StopRuns, ids[0])
	case n > 1:
		m.showAction(StopAll, "Stop All", StopRuns, strings.Join(ids, " "))
	}
}

// doing returns what a request does, its progress and its time left.
func doing(a control.Active, left time.Duration) string {
	switch {
	case a.CompletionTokens > 0 && a.PerSecond > 0:
		return fmt.Sprintf("writing, %.0f tokens/s", a.PerSecond)
	case a.CompletionTokens > 0:
		return "writing"
	case a.Waits() || a.PromptTokens == 0:
		return "waiting"
	case a.Restores():
		return "restoring"
	case left > 0:
		return fmt.Sprintf("reading %d %%, %s left", percent(a), roughly(left))
	}
	return fmt.Sprintf("reading %d %%", percent(a))
}

// percent returns how much of a prompt is read, without what was restored.
func percent(a control.Active) int {
	done, all := a.Reading()
	return 100 * done / max(1, all)
}

// beside returns the text beside the icon: the speed of all requests, or, while none generates, the
// progress of the oldest prompt.
func beside(active []control.Active) string {
	if per := speed(active); per > 0 {
		return fmt.Sprintf("%.0f t/s", per)
	}
	for _, a := range active {
		if a.Reads() {
			return fmt.Sprintf("%d %%", percent(a))
		}
	}
	return ""
}

// speed returns the tokens per second of all requests.
func speed(active []control.Active) (per float64) {
	for _, a := range active {
		per += a.PerSecond
	}
	return per
}

// minReading is how long a prompt has to be read until its speed is meaningful.
const minReading = 500 * time.Millisecond

// A Reading records by run id how much of a prompt had been read when it was first seen. It has
// only requests in prefill. The zero Reading is empty.
type Reading map[int64]firstLook

type firstLook struct {
	at   time.Time
	done int // tokens
}

// Left returns by run id how long the prefill of each prompt will still take, by its speed so far.
// Requests whose speed is not known yet are left out. It removes requests that have ended.
func (r *Reading) Left(now time.Time, active []control.Active) map[int64]time.Duration {
	next, left := Reading{}, map[int64]time.Duration{}
	for _, a := range active {
		if !a.Reads() {
			continue
		}
		first, seen := (*r)[a.RunID]
		if !seen {
			first = firstLook{now, a.PromptDone}
		}
		next[a.RunID] = first
		took, read := now.Sub(first.at), a.PromptDone-first.done
		if took >= minReading && read > 0 {
			left[a.RunID] = took * time.Duration(a.PromptTokens-a.PromptDone) / time.Duration(read)
		}
	}
	*r = next
	return left
}
