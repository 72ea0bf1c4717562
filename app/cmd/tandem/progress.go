package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tandem/app/control"
)

// watchEvery is the time between two looks at the state. What the second look still sees is drawn, so 300 ms
// are enough for a slow state too.
const watchEvery = 100 * time.Millisecond

// A progressBar redraws one line of a terminal. The zero value draws nothing.
type progressBar struct {
	w     io.Writer
	drawn bool
}

// bar returns a progress bar on standard error. It draws nothing if that is no terminal.
func (m *Main) bar() *progressBar {
	if !m.Terminal {
		return &progressBar{}
	}
	return &progressBar{w: m.Stderr}
}

// bytes shows how much has arrived. total is 0 if it is not known.
func (b *progressBar) bytes(what string, done, total, perSecond int64) {
	line := what + " " + control.ByteSize(done)
	if total > 0 {
		line = fmt.Sprintf("%s %s %s of %s", what, gauge(done, total), control.ByteSize(done),
			control.ByteSize(total))
	}
	if perSecond > 0 {
		line += fmt.Sprintf(", %s/s", control.ByteSize(perSecond))
		if left := total - done; left > 0 {
			line += fmt.Sprintf(", %v left", time.Duration(left/perSecond)*time.Second)
		}
	}
	b.draw(line)
}

// waiting shows why nothing arrives. total is 0 if it is not known.
func (b *progressBar) waiting(what string, done, total int64, why string) {
	if total > 0 {
		what += fmt.Sprintf(" %d%%", min(done, total)*100/total)
	}
	b.draw(what + ", " + why)
}

// gauge draws done as a share of total, which is above 0.
func gauge(done, total int64) string {
	const width = 30
	share := float64(min(done, total)) / float64(total)
	full := int(share * width)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("=", full), strings.Repeat(" ", width-full),
		int(share*100))
}

func (b *progressBar) draw(line string) {
	if b.w == nil {
		return
	}
	fmt.Fprintf(b.w, "\r\x1b[K%s", line)
	b.drawn = true
}

// end leaves the line as it is. What is printed next begins below it.
func (b *progressBar) end() {
	if b.drawn {
		fmt.Fprintln(b.w)
	}
	b.drawn = false
}

// erase removes the line.
func (b *progressBar) erase() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	b.drawn = false
}

// stateOf returns a function that asks a server for its state.
func stateOf(c *control.Client) func(context.Context) (control.State, error) {
	return func(ctx context.Context) (control.State, error) {
		return control.Ask(ctx, c, control.GetState)
	}
}

// watch shows on the terminal what the caller waits for: a load, or the reading of a prompt. stop
// erases it, and may be called more than once.
func (m *Main) watch(ctx context.Context,
	state func(context.Context) (control.State, error)) (stop func()) {
	if !m.Terminal {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		bar := m.bar()
		defer bar.erase()
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		busy := false // a look has seen something
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			s, err := state(ctx)
			if err != nil {
				return
			}
			show := awaited(s)
			if show == nil {
				bar.erase()
			} else if busy {
				show(bar)
			}
			busy = show != nil
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// awaited returns what draws the thing that requests wait for, nil if there is none.
func awaited(s control.State) func(*progressBar) {
	if l := s.Loading; l != nil {
		return func(b *progressBar) { b.bytes("loading "+l.ID, l.Done, l.Total, 0) }
	}
	for _, a := range s.Active {
		// Of several in flight the oldest is shown, because it is served first.
		if a.CompletionTokens > 0 || a.PromptTokens == 0 {
			continue
		}
		if a.Waits() {
			return func(b *progressBar) {
				b.draw("waiting to read " + control.Plural(a.PromptTokens, "token"))
			}
		}
		if a.Restores() {
			return func(b *progressBar) { b.draw("restoring the prompt") }
		}
		return func(b *progressBar) {
			done, all := a.Reading()
			b.draw(fmt.Sprintf("reading the prompt %s %d of %d tokens",
				gauge(int64(done), int64(all)), done, all))
		}
	}
	return nil
}
