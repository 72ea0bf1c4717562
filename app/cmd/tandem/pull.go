package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tandem/app/control"
)

func pull(ctx context.Context, m *Main, args []string) error {
	rest, err := parse(m.flags("pull"), args, 1, 1)
	if err != nil {
		return err
	}
	id, revision, _ := strings.Cut(rest[0], "@")
	return m.withServer(ctx, func(c *control.Client) error {
		bar := progressBar{w: m.Stderr}
		model, err := c.Pull(ctx, control.PullRequest{ID: id, Revision: revision}, func(p control.Progress) {
			bar.show(p.Done, p.Total, p.PerSecond)
		})
		bar.end()
		if err == nil {
			fmt.Fprintln(m.Stdout, model.ID)
		}
		return err
	})
}

// A progressBar redraws one line.
type progressBar struct {
	w     io.Writer
	drawn bool
}

func (b *progressBar) show(done, total, perSecond int64) {
	const width = 30
	line := byteSize(done)
	if total > 0 {
		full := int(min(done, total) * width / total)
		line = fmt.Sprintf("[%s%s] %3d%% %s of %s", strings.Repeat("=", full), strings.Repeat(" ", width-full),
			min(done, total)*100/total, byteSize(done), byteSize(total))
	}
	if perSecond > 0 {
		line += fmt.Sprintf(", %s/s", byteSize(perSecond))
		if left := total - done; left > 0 {
			line += fmt.Sprintf(", %v left", (time.Duration(left/perSecond) * time.Second))
		}
	}
	fmt.Fprintf(b.w, "\r\x1b[K%s", line)
	b.drawn = true
}

func (b *progressBar) end() {
	if b.drawn {
		fmt.Fprintln(b.w)
	}
}
