package main

import (
	"context"
	"fmt"
	"html"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/terminal"
)

func open(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "open", Short: "open the window in the browser", Args: terminal.NoArgs}
	print := cmd.Flags().Bool("print", false, "print the link only")
	// No server is started here: a page works only while one runs.
	cmd.RunE = m.served(func(ctx context.Context, c *control.Client) error {
		code, err := control.Ask(ctx, c, control.IssueCode)
		if err != nil {
			return err
		}
		if code.URL == "" {
			state, err := control.Ask(ctx, c, control.GetState)
			if err != nil {
				return err
			}
			return state.NoEndpoint()
		}
		if err := m.Print("%s", code.URL); err != nil || *print {
			return err
		}
		opener := "xdg-open"
		if runtime.GOOS == "darwin" {
			opener = "open"
		}
		page, err := redirect(m.home(), code.URL)
		if err != nil {
			return err
		}
		if err := exec.CommandContext(ctx, opener, page).Run(); err != nil {
			return fmt.Errorf("no browser could be started (%v); open the link above within a minute",
				err)
		}
		return nil
	})
	return cmd
}

// redirect writes a page that leads to the link, and returns its path. Only this user can read it.
// Every user can read the arguments of a program, and the code in the link buys a session. A code
// is good once, within a minute, so the page may stay there.
func redirect(dir, link string) (string, error) {
	path := filepath.Join(dir, "run", "open.html")
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><title>Tandem</title><meta name=referrer content=no-referrer>"+
		"<meta http-equiv=refresh content=\"0; url=%[1]s\"><a href=\"%[1]s\">Tandem</a>\n",
		html.EscapeString(link))
	return path, home.WritePrivate(path, text)
}
