package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rivo/uniseg"
)

// A Bar redraws one line on the terminal of standard error. It draws nothing if standard error is not a
// terminal, or a dumb one.
type Bar struct {
	Faint bool // in faint letters, for a terminal that may show styles

	w     io.Writer // nil without such a terminal
	width int
	drawn bool
}

// NewBar returns a bar that has drawn nothing.
func (p *Program) NewBar() *Bar {
	if !p.Terminal || p.dumb() {
		return &Bar{}
	}
	return &Bar{w: p.Stderr, width: width(p.Stderr)}
}

// Draw draws what happens and how far it is. Where both together are too wide, the beginning of what is
// cut. Neither moves the cursor.
func (b *Bar) Draw(what, far string) {
	if b.w == nil {
		return
	}
	far = Printable(far)
	room := b.width - 1 - uniseg.StringWidth(far) // a terminal may break a line that is full
	line := cutBegin(Printable(what), max(1, room)) + far
	if b.Faint {
		line = style(dim, line)
	}
	fmt.Fprint(b.w, "\r\x1b[K", line)
	b.drawn = true
}

// End leaves the line as it is. What is printed next begins below it.
func (b *Bar) End() {
	if b.drawn {
		fmt.Fprintln(b.w)
	}
	b.drawn = false
}

// Erase removes the line.
func (b *Bar) Erase() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	b.drawn = false
}

// Gauge draws done as a share of total, which is above 0.
func Gauge(done, total int64) string {
	const width = 30
	share := float64(min(done, total)) / float64(total)
	full := int(share * width)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("=", full), strings.Repeat(" ", width-full),
		int(share*100))
}

// watchEvery is the time between two looks of [Program.Watch]. What the second look still sees is drawn, so
// 300 ms are enough for a slow look too.
const watchEvery = 100 * time.Millisecond

// Watch draws on a terminal what look returns: what the caller waits for, which may be empty, and how far it
// is. An error ends it. stop erases the line, and may be called more than once.
func (p *Program) Watch(ctx context.Context, look func(context.Context) (what, far string, err error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		bar := p.NewBar()
		defer bar.Erase()
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		busy := false // a look has seen something
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			what, far, err := look(ctx)
			if err != nil {
				return
			}
			if what == "" {
				bar.Erase()
			} else if busy {
				bar.Draw(what, far)
			}
			busy = what != ""
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
