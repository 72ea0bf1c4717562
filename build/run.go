package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"

	"tandem/build/program"
	"tandem/build/setup"
)

// runVerb builds tandem and serves in the foreground.
func runVerb(ctx context.Context, b *setup.Builder, args []string) error {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help") {
		fmt.Fprintln(b.Out, "usage: go run ./build run [--headless] [flags of tandem serve]\n"+
			"Serves the model chosen last (at first the starter model), or the one that the flags name. Ctrl-C stops it.\n"+
			"With a display it opens the menu bar and the window. --headless opens neither.")
		return nil
	}
	headless := !program.HasDisplay()
	if len(args) > 0 && args[0] == "--headless" {
		headless, args = true, args[1:]
	}
	var more []setup.Requirement
	if !headless {
		more = program.DesktopRequirements()
	}
	if err := b.SetUp(ctx, more); err != nil {
		return err
	}
	if !headless {
		p, err := program.BuildDesktop(ctx, b)
		if err != nil {
			return err
		}
		return program.Foreground(exec.Command(p.Menubar,
			slices.Concat([]string{"--program", p.Tandem, "--window", p.Window, "--"}, args)...))
	}
	path, err := program.BuildTandem(ctx, b)
	if err != nil {
		return err
	}
	return program.Foreground(serveCommand(path, args))
}

// serveCommand serves with the given flags and no others. A --model added here would become the
// user's choice.
func serveCommand(program string, args []string) *exec.Cmd {
	return exec.Command(program, append([]string{"serve"}, args...)...)
}
