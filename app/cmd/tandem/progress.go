package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/app/control"
	"tandem/app/terminal"
)

// amount says how much has arrived. total is 0 if it is not known.
func amount(done, total, perSecond int64) string {
	text := " " + control.ByteSize(done)
	if total > 0 {
		text = fmt.Sprintf(" %s%s of %s", terminal.Gauge(done, total), text, control.ByteSize(total))
	} else if done == 0 {
		text = "" // nothing is known yet
	}
	if perSecond > 0 {
		text += fmt.Sprintf(", %s/s", control.ByteSize(perSecond))
		if left := total - done; left > 0 {
			text += fmt.Sprintf(", %v left", time.Duration(left/perSecond)*time.Second)
		}
	}
	return text
}

// waiting says why nothing arrives. total is 0 if it is not known.
func waiting(done, total int64, why string) string {
	if total > 0 {
		return fmt.Sprintf(" %d%%, %s", min(done, total)*100/total, why)
	}
	return ", " + why
}

// stateOf returns a function that asks a server for its state.
func stateOf(c *control.Client) func(context.Context) (control.State, error) {
	return func(ctx context.Context) (control.State, error) {
		return control.Ask(ctx, c, control.GetState)
	}
}

// watch shows on the terminal what the caller waits for: a load, or the reading of the prompt that it
// asks about next. stop erases it, and may be called more than once.
func (m *Main) watch(ctx context.Context, state func(context.Context) (control.State, error)) (stop func()) {
	return m.watchAs(ctx, state, control.CommandLineAgent)
}

// watchAs is watch for a request that counts as another client's.
func (m *Main) watchAs(ctx context.Context, state func(context.Context) (control.State, error),
	client string) (stop func()) {
	if !m.Terminal {
		return func() {}
	}
	others := map[int64]bool{} // requests that are in flight before the caller's
	if s, err := state(ctx); err == nil {
		for _, a := range s.Active {
			others[a.RunID] = true
		}
	}
	return m.Watch(ctx, func(ctx context.Context) (what, far string, err error) {
		s, err := state(ctx)
		if err != nil {
			return "", "", err
		}
		// Of several requests of the client the first to begin is the caller's.
		s.Active = slices.DeleteFunc(slices.Clone(s.Active),
			func(a control.Active) bool { return others[a.RunID] || a.Client != client })
		what, far = awaited(s)
		return what, far, nil
	})
}

// awaited returns what the first request waits for, and how far it is; two empty texts if there is nothing.
func awaited(s control.State) (what, far string) {
	if l := s.Loading; l != nil {
		return "loading " + l.ID, amount(l.Done, l.Total, 0)
	}
	if len(s.Active) == 0 {
		return "", ""
	}
	switch a := s.Active[0]; {
	case a.CompletionTokens > 0 || a.PromptTokens == 0:
		return "", ""
	case a.Waits():
		return "waiting to read ", control.Plural(a.PromptTokens, "token")
	case a.Restores():
		return "restoring the prompt", ""
	default:
		done, all := a.Reading()
		return "reading the prompt", fmt.Sprintf(" %s %s of %s tokens", terminal.Gauge(int64(done), int64(all)),
			control.Grouped(done), control.Grouped(all))
	}
}
