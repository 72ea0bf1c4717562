package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"tandem/app/control"
)

func (m *Main) open(ctx context.Context, args []string) error {
	f := m.Flags("open")
	print := f.Bool("print", false, "print the link only")
	if _, err := m.Parse(f, args, 0, 0); err != nil {
		return err
	}
	// No server is started here: a page works only while one runs.
	c := control.Dial(m.home())
	defer c.Close()
	code, err := control.Ask(ctx, c, control.IssueCode)
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
	page, err := m.redirect(code.URL)
	if err != nil {
		return err
	}
	if err := exec.CommandContext(ctx, opener, page).Run(); err != nil {
		return fmt.Errorf("no browser could be started (%v); open the link above within a minute",
			err)
	}
	return nil
}

// redirect writes a page that leads to the link, and returns its path. Only this user can read it.
// Every user can read the arguments of a program, and the code in the link buys a session. A code
// is good once, within a minute, so the page may stay there.
func (m *Main) redirect(link string) (string, error) {
	path := filepath.Join(m.home(), "run", "open.html")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><title>Tandem</title><meta name=referrer content=no-referrer>"+
		"<meta http-equiv=refresh content=\"0; url=%[1]s\"><a href=\"%[1]s\">Tandem</a>\n",
		html.EscapeString(link))
	return path, os.WriteFile(path, []byte(text), 0o600)
}
