package main

import (
	"context"
	"fmt"
	"strings"

	"tandem/app/control"
)

func pull(ctx context.Context, m *Main, args []string) error {
	rest, err := parse(m.flags("pull"), args, 1, 1)
	if err != nil {
		return err
	}
	id, revision, _ := strings.Cut(rest[0], "@")
	return m.withServer(ctx, func(c *control.Client) error {
		bar := m.bar()
		model, err := c.Pull(ctx, control.PullRequest{ID: id, Revision: revision}, func(p control.Progress) {
			bar.bytes(rest[0], p.Done, p.Total, p.PerSecond)
		})
		bar.end()
		if err == nil {
			fmt.Fprintln(m.Stdout, model.ID)
		}
		return err
	})
}
