package app

import (
	"context"
	"fmt"
	"time"

	"tandem/app/control"
)

// awakeEvery is how often it is looked whether there is work: for so long, a system
// may think of sleep after some began.
const awakeEvery = time.Second

// A Hold tells the system that this process is busy, and with what, so that it
// neither sleeps nor slows it down until release is called, once.
type Hold func(reason string) (release func())

// work says what keeps a process busy, empty if nothing does. A download that waits,
// for the network for one, is no reason to keep a machine from its sleep.
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

// computing says what else keeps the process busy: what holds a model and is no
// request, and a bench, which does not hold it.
func (a *App) computing() string {
	a.mu.Lock()
	measuring := a.endBench != nil
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

// keepAwake holds the system while there is work, until ctx ends. What the work is
// may change meanwhile; the reason stays that of its beginning.
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
