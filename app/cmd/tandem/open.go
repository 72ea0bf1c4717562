package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"tandem/app/control"
)

func open(ctx context.Context, m *Main, args []string) error {
	f := m.flags("open")
	print := f.Bool("print", false, "print the link only")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	// Nothing is started here: a page is of use only while somebody serves it.
	c := control.Dial(m.home())
	defer c.Close()
	code, err := c.SessionCode(ctx)
	if err != nil {
		return err
	}
	if code.URL == "" {
		return fmt.Errorf("the endpoint is not open, though Tandem runs; `tandem doctor` says why")
	}
	fmt.Fprintln(m.Stdout, code.URL)
	if *print {
		return nil
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	if err := exec.CommandContext(ctx, opener, code.URL).Run(); err != nil {
		return fmt.Errorf("no browser could be started (%v); open the link above within a minute", err)
	}
	return nil
}
