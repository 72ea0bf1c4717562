package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"

	"tandem/app"
	"tandem/app/control"
)

// A finding is one line of the doctor's report.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func doctor(ctx context.Context, m *Main, args []string) error {
	f := m.flags("doctor")
	asJSON := f.Bool("json", false, "one JSON object a line")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	findings := m.examine(ctx)
	bad := 0
	var rows [][]string
	for _, x := range findings {
		if !x.OK {
			bad++
		}
		if *asJSON {
			if err := writeJSON(m.Stdout, x); err != nil {
				return err
			}
			continue
		}
		mark := "ok"
		if !x.OK {
			mark = "!!"
		}
		rows = append(rows, []string{mark, x.Name, x.Detail})
	}
	if !*asJSON {
		if err := table(m.Stdout, []string{"", "WHAT", "FOUND"}, rows); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d checks found something to mend", bad, len(findings))
	}
	return nil
}

// notRunning reports whether err says that nobody serves the home.
func notRunning(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Code == control.CodeUnavailable
}

// examine looks at everything a user may have to mend.
func (m *Main) examine(ctx context.Context) []finding {
	var list []finding
	add := func(name string, ok bool, format string, args ...any) {
		list = append(list, finding{name, ok, fmt.Sprintf(format, args...)})
	}
	add("program", true, "%s, %s/%s", version(), runtime.GOOS, runtime.GOARCH)

	home := m.home()
	if info, err := os.Stat(home); err == nil {
		add("home folder", info.Mode().Perm()&0o077 == 0, "%s, mode %v", home, info.Mode().Perm())
	} else {
		add("home folder", true, "%s, made by the first start", home)
	}

	c := control.Dial(home)
	defer c.Close()
	state, err := c.State(ctx)
	switch {
	case err != nil && !notRunning(err):
		add("server", false, "%v", err)
	case err != nil:
		add("server", true, "not running; `tandem serve` starts it")
	case state.Address == "":
		add("server", false, "pid %d without an endpoint: %s", state.PID, state.Error)
	case state.Error != "":
		add("server", false, "pid %d at %s: %s", state.PID, state.Address, state.Error)
	default:
		add("server", true, "pid %d at %s, model %s, %s", state.PID, state.Address, state.Choice, state.Phase)
	}

	if err == nil || notRunning(err) {
		list = append(list, m.examineChoice(ctx, c, state, err == nil))
	}

	device, err := app.Device()
	if err != nil {
		add("MLX", false, "%v", err)
	} else {
		add("MLX", true, "%s", device)
	}
	if runtime.GOOS == "linux" {
		// MLX compiles fused CPU kernels with it while a model runs.
		if path, err := exec.LookPath("g++"); err == nil {
			add("C++ compiler", true, "%s", path)
		} else {
			add("C++ compiler", true, "none: operations are not fused, which costs some speed")
		}
	}

	o := m.options(m.logger(false))
	if _, err := os.Stat(o.Hub.CacheDir); err == nil {
		add("model cache", true, "%s", o.Hub.CacheDir)
	} else {
		add("model cache", true, "%s, made by the first `tandem pull`", o.Hub.CacheDir)
	}
	return list
}

// examineChoice looks at the model that is served, or would be.
func (m *Main) examineChoice(ctx context.Context, c *control.Client, state control.State, served bool) finding {
	model, err := m.chosen(ctx, c, state, served)
	if err != nil {
		return finding{"chosen model", false, err.Error()}
	}
	place, err := app.CheckModel(model)
	if err != nil {
		return finding{"chosen model", false, fmt.Sprintf("%s: %v; or choose another by `tandem serve --model ID`", model.ID, err)}
	}
	return finding{"chosen model", true, fmt.Sprintf("%s, %s", model.ID, place)}
}

// chosen asks the process that serves, or else looks into the home folder.
func (m *Main) chosen(ctx context.Context, c *control.Client, state control.State, served bool) (control.Model, error) {
	if !served {
		return app.LastChoice(ctx, m.home())
	}
	list, err := c.Models(ctx)
	if err != nil {
		return control.Model{}, err
	}
	i := slices.IndexFunc(list, func(model control.Model) bool { return model.ID == state.Choice })
	if i < 0 {
		return control.Model{}, fmt.Errorf("%s is no longer registered; choose another by `tandem serve --model ID`", state.Choice)
	}
	return list[i], nil
}
