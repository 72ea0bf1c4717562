package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"tandem/build/clients"
	"tandem/build/mac"
	"tandem/build/program"
	"tandem/build/setup"
	"tandem/build/ui"
)

// doctorVerb prints what this machine has and lacks, and changes nothing. It ends with the line
// that installs what apt or Homebrew has.
func doctorVerb(ctx context.Context, b *setup.Builder, args []string) error {
	if err := parse(newFlags("doctor"), args, 0); err != nil {
		return err
	}
	fmt.Fprintf(b.Out, "%s/%s, %s, cache %s\n", runtime.GOOS, runtime.GOARCH, runtime.Version(),
		b.Cache.Dir)
	var missing []setup.Requirement
	for _, group := range []struct {
		what string // empty for all verbs
		list []setup.Requirement
	}{
		{"", setup.Requirements()},
		{"the interface", setup.FrontendRequirements()},
		{"the menu bar and the window", program.DesktopRequirements()},
		{"test clients", clients.Requirements()},
		{"test ui", ui.Requirements()},
		{"app and test mac", mac.Requirements()},
	} {
		if group.what != "" && len(group.list) > 0 {
			fmt.Fprintf(b.Out, "for %s:\n", group.what)
		}
		for _, r := range group.list {
			mark := "ok     "
			if !r.Present(ctx, b) {
				mark = "missing"
				missing = append(missing, r)
			}
			fmt.Fprintf(b.Out, "%s  %s\n", mark, r.What)
		}
	}
	for _, program := range [][]string{{"c++", "--version"}, {"cmake", "--version"},
		{"cargo", "--version"}, {"python3", "--version"}} {
		if path, err := exec.LookPath(program[0]); err == nil {
			text, _ := b.Output(b.Command(ctx, program[0], program[1:]...))
			first, _, _ := strings.Cut(text, "\n")
			fmt.Fprintf(b.Out, "         %s: %s\n", path, first)
		}
	}
	links := []string{b.MLXLink()}
	if version, err := b.NativeVersion(); err == nil {
		links = append(links, filepath.Join(b.Root, setup.NativeDir, ".deps", version))
	}
	for _, path := range links {
		rel, _ := filepath.Rel(b.Root, path)
		state := "ready"
		if _, err := os.Stat(path); err != nil { // Stat follows the link
			state = "not there yet: go run ./build setup"
		}
		fmt.Fprintf(b.Out, "         %s: %s\n", rel, state)
	}
	if len(missing) > 0 {
		return errors.New("missing on this machine:" + setup.Describe(missing, runtime.GOOS))
	}
	return nil
}
