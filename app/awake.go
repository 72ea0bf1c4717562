package app

import (
	"context"
	"fmt"
	"time"

	"tandem/app/control"
)

// awakeEvery is how long the system may still fall asleep after work has begun.
const awakeEvery = time.Second

// A Hold keeps the system from sleeping and from slowing this process down, until release is
// called. It is called once. reason names the work.
type Hold func(reason string) (release func())

// work returns what keeps a process busy, empty if nothing does. A download that waits, such as for
// the network, lets the machine sleep.
func work(st control.State) string {
	if len(st.Active) > 0 {
		return "answering requests"
	}
	if st.Loading != nil || st.Phase == control.PhaseLoading {
		return "loading a model"
	}
	for _, d := range st.Downloads {
		if !d.Paused && d.Error == "" && d.Waiting == "" {
			return fmt.Sprintf("downloading %s", d.ID)
		}
	}
	return ""
}

// computing returns what else keeps the process busy: a bench, or a verification.
func (a *App) computing() string {
	a.mu.Lock()
	measuring := a.cancelBench != nil
	a.mu.Unlock()
	return computation(measuring, a.pool.Users())
}

func computation(measuring bool, users int) string {
	switch {
	case measuring:
		return "measuring the model"
	case users > 0:
		return "checking an answer"
	}
	return ""
}

// keepAwake holds the system while there is work, until ctx ends. The reason is the work that began
// first.
func keepAwake(ctx context.Context, work func() string, hold Hold) {
	var release func()
	defer func() {
		if release != nil {
			release()
		}
	}()
	tick := time.NewTicker(awakeEvery)
	defer tick.Stop()
	for {
		switch reason := work(); {
		case reason != "" && release == nil:
			release = hold(reason)
		case reason == "" && release != nil:
			release()
			release = nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
