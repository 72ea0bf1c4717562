package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"tandem/app"
	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/terminal"
	"tandem/models/starter"
	"tandem/storage/disk"
)

func doctor(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "doctor", Short: "check what works here and what does not", Args: terminal.NoArgs}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	report := cmd.Flags().Bool("report", false,
		"print what to send with a problem: versions, machine, settings, log and figures of runs, without your texts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *report {
			return m.printReport(cmd.Context())
		}
		return m.PrintFindings(m.examine(cmd.Context()), *asJSON)
	}
	return cmd
}

// printReport prints the file that the window saves.
func (m *Main) printReport(ctx context.Context) error {
	return m.withServer(ctx, func(c *control.Client) error {
		b, err := control.Ask(ctx, c, control.GetDiagnosis)
		if err != nil {
			return err
		}
		return m.Print("%s", b)
	})
}

// notRunning reports whether err says that no process serves the home.
func notRunning(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.CodeUnavailable
}

// examine checks everything that a user may have to mend.
func (m *Main) examine(ctx context.Context) []terminal.Finding {
	var list []terminal.Finding
	add := func(name string, ok bool, format string, args ...any) {
		list = append(list, terminal.Finding{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)})
	}
	add("program", true, "%s, %s/%s", m.Version, runtime.GOOS, runtime.GOARCH)

	dir := m.home()
	if err := home.CheckWritable(dir); err != nil {
		add("home folder", false, "%v", err)
	} else if info, err := disk.Stat(dir); err == nil {
		add("home folder", info.Mode().Perm()&0o077 == 0, "%s, mode %v", dir, info.Mode().Perm())
	} else {
		add("home folder", true, "%s, made by the first start", dir)
	}

	c := control.Dial(dir)
	defer c.Close()
	state, err := control.Ask(ctx, c, control.GetState)
	served, owner := err == nil, ""
	if notRunning(err) {
		owner, err = home.Owner(dir)
	}
	var choice terminal.Finding
	if served {
		choice = servedChoice(ctx, c, state.Choice)
	}
	switch {
	case err != nil:
		add("server", false, "%v", err)
	case owner != "":
		add("server", true, "%s holds the home folder and does not answer: it starts or stops; ask again", owner)
	case !served:
		add("server", true, "not running; `tandem serve` starts it")
	default:
		list = append(list, examineServer(state, choice))
	}

	switch {
	case err != nil || owner != "": // who holds it chooses
	case served:
		list = append(list, choice)
	default:
		model, err := app.LastChoice(ctx, dir, starter.Beside(terminal.Executable()))
		list = append(list, database(ctx, dir), examineModel(model, err))
	}

	device, err := app.Device()
	list = append(list, finding("MLX", device, err))

	o := m.options(m.Logger(false))
	cache := o.Hub.CacheDir
	if st, err := control.Ask(ctx, c, control.GetSettings); err == nil {
		cache = st.Settings.HubCache
	} else if _, given := o.Overrides["hub_cache"]; !given && owner == "" {
		// The check of the database reports its faults; here they count as nothing saved.
		if saved, err := app.SavedHubCache(ctx, dir); err == nil && saved != "" {
			cache = saved
		}
	}
	if _, err := disk.Stat(cache); err == nil {
		add("model cache", true, "%s", cache)
	} else {
		add("model cache", true, "%s, made by the first `tandem pull`", cache)
	}
	return list
}

// examineServer checks a process that answers. choice is what was found about its model.
func examineServer(state control.State, choice terminal.Finding) terminal.Finding {
	say := func(ok bool, format string, args ...any) terminal.Finding {
		return terminal.Finding{Name: "server", OK: ok, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case state.Address == "":
		return say(state.Error == "", "%v", noEndpoint(state))
	case state.Phase == control.PhaseFailed && !choice.OK: // one fault, and told below
		return say(true, "pid %d at %s, without its model", state.PID, state.Address)
	case state.Error != "":
		return say(false, "pid %d at %s: %s", state.PID, state.Address, state.Error)
	case state.Warning != "":
		return say(false, "pid %d at %s answers, but %s", state.PID, state.Address,
			state.Warning)
	}
	rows := ""
	if l := state.Resident(state.Choice); l != nil {
		rows = rowsOf(l)
	}
	return say(true, "pid %d at %s, model %s, %s%s", state.PID, state.Address, state.Choice,
		state.Phase, rows)
}

// servedChoice checks the model that a running process serves.
func servedChoice(ctx context.Context, c *control.Client, id string) terminal.Finding {
	list, err := control.Ask(ctx, c, control.ListModels)
	for _, model := range list.Models {
		if model.ID == id {
			return examineModel(model, nil)
		}
	}
	return examineModel(control.Model{}, cmp.Or(err, fmt.Errorf("%s is no longer installed; %s", id, toChoose)))
}

// database checks the whole database.
func database(ctx context.Context, home string) terminal.Finding {
	problem, err := app.CheckDatabase(ctx, home)
	if err == nil && problem != "" {
		err = errors.New(problem + "; move tandem.db aside, with the -wal and -shm files beside it, to start with an empty one")
	}
	return finding("database", "whole", err)
}

// toChoose is what to do about a current model that cannot be loaded.
const toChoose = "choose another with `tandem use MODEL`"

// examineModel checks the current model, or tells why it is not known.
func examineModel(model control.Model, err error) terminal.Finding {
	place := ""
	if err == nil {
		if place, err = app.CheckModel(model); err != nil {
			err = fmt.Errorf("%s: %s; or %s", model.ID, strings.TrimSuffix(err.Error(), "."), toChoose)
		}
	}
	return finding("current model", model.ID+", "+place, err)
}

// finding returns what was found out about something: what is wrong, else the detail.
func finding(name, detail string, err error) terminal.Finding {
	if err != nil {
		detail = err.Error()
	}
	return terminal.Finding{Name: name, OK: err == nil, Detail: detail}
}
