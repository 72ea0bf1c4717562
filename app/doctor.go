package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"tandem/app/control"
	"tandem/app/home"
	"tandem/app/terminal"
	"tandem/storage/disk"
)

// Examine checks everything that a user may have to mend, whether a process serves the home folder or
// none does. It opens and changes nothing.
func Examine(ctx context.Context, o Options) []terminal.Finding {
	var list []terminal.Finding
	add := func(name string, ok bool, format string, args ...any) {
		list = append(list, terminal.Finding{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)})
	}
	add("program", true, "%s, %s/%s", o.Version, runtime.GOOS, runtime.GOARCH)

	dir := o.Home
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
	if control.NotRunning(err) {
		owner, err = home.Owner(dir)
	}
	var choice terminal.Finding
	if served {
		choice = examineServedChoice(ctx, c, state.Choice)
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
		model, err := LastChoice(ctx, dir, o.Starter)
		list = append(list, examineDatabase(ctx, dir), examineModel(model, err))
	}

	device, err := computingDevice()
	list = append(list, finding("MLX", device, err))

	cache := o.Hub.CacheDir
	if st, err := control.Ask(ctx, c, control.GetSettings); err == nil {
		cache = st.Settings.HubCache
	} else if _, given := o.Overrides["hub_cache"]; !given && owner == "" {
		// The check of the database reports its faults; here they count as nothing saved.
		if saved, err := savedHubCache(ctx, dir); err == nil && saved != "" {
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
		return say(state.Error == "", "%v", state.NoEndpoint())
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
		rows = l.KVNote()
	}
	return say(true, "pid %d at %s, model %s, %s%s", state.PID, state.Address, state.Choice,
		state.Phase.Words(), rows)
}

// examineServedChoice checks the model that a running process serves.
func examineServedChoice(ctx context.Context, c *control.Client, id string) terminal.Finding {
	list, err := control.Ask(ctx, c, control.ListModels)
	for _, model := range list.Models {
		if model.ID == id {
			return examineModel(model, nil)
		}
	}
	return examineModel(control.Model{}, cmp.Or(err, fmt.Errorf("%s is no longer installed; %s", id, toChoose)))
}

// examineDatabase checks the whole database.
func examineDatabase(ctx context.Context, home string) terminal.Finding {
	problem, err := checkDatabase(ctx, home)
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
		if place, err = checkModel(model); err != nil {
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
