package menu

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/app/control"
)

// A View is what the menu is made from.
type View struct {
	State *control.State // of the process that serves; nil while none answers

	// Crashed is why the server is no longer started. While State is nil and Crashed is empty, the
	// server is starting.
	Crashed string

	Login   Login
	Failure string // of the last click, or of the start if there was none; in plain words
}

// Login says whether Tandem starts at login.
type Login string

// The values of Login.
const (
	LoginUnknown Login = "" // cannot be set here
	LoginOff     Login = "off"
	LoginOn      Login = "on"
)

// maxTitle limits a text from elsewhere in a row, in runes.
const maxTitle = 96

// Of returns the menu of a view.
func Of(v View) *Menu {
	m := &Menu{Icon: Idle, Tooltip: "Tandem"}
	m.status(v)
	m.models(v)
	m.downloads(v)
	m.rest(v)
	return m
}

func (m *Menu) show(s Slot, title string) {
	m.Rows[s] = Row{Shown: true, Title: clip(title)}
}

func (m *Menu) offer(s Slot, title string, do Action, about string) {
	m.Rows[s] = Row{Shown: true, Title: clip(title), Enabled: true, Do: do, About: about}
}

// clip shortens a text to one line that fits a row. It cuts the middle, because errors begin with
// what failed and end with why.
func clip(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if cut := len(r) - maxTitle; cut > 0 {
		head := maxTitle / 2
		r = slices.Concat(r[:head], []rune{'…'}, r[head+cut+1:])
	}
	return string(r)
}

// status fills the rows above the first line, the icon and the title.
func (m *Menu) status(v View) {
	problem := v.Failure
	switch st := v.State; {
	case v.Crashed != "":
		m.Icon = Failed
		m.show(Status, "Tandem has stopped")
		m.offer(StartAgain, "Start again", Restart, "")
		problem = v.Crashed
	case st == nil:
		m.Icon = Loading
		m.show(Status, "Starting…")
	default:
		m.phase(st, st.MenuSpeed)
		if st.Error != "" {
			problem = st.Error
		} else if problem == "" {
			problem = st.Warning
		}
		if p := st.PortTaken; p != nil {
			m.offer(TryPort, fmt.Sprintf("Try port %d again", p.Port), SetPort, "")
			if p.Next != 0 {
				m.offer(UsePort, fmt.Sprintf("Use port %d", p.Next), SetPort, strconv.Itoa(p.Next))
			}
		} else if st.EndpointClosed {
			m.offer(TryPort, "Try to open the endpoint again", SetPort, "")
		}
		if st.Address != "" {
			m.offer(Endpoint, "Copy address "+strings.TrimPrefix(st.Address, "http://"), Copy,
				st.Address+"/v1")
		}
	}
	if problem != "" {
		m.show(Problem, problem)
	}
	m.Tooltip = "Tandem: " + m.Rows[Status].Title
}

// phase shows what the process is doing.
func (m *Menu) phase(st *control.State, speed bool) {
	switch {
	case st.Phase == control.PhaseLoading && st.Loading != nil:
		m.Icon = Loading
		title := "Loading " + st.Loading.ID
		if l := st.Loading; l.Total > 0 {
			title = fmt.Sprintf("%s, %d %%", title, l.Done*100/l.Total)
		}
		m.show(Status, title)
	case st.Phase == control.PhaseStarting:
		m.Icon = Loading
		m.show(Status, "Starting…")
	case st.Phase == control.PhaseDraining:
		m.show(Status, "Stopping…")
	case len(st.Active) > 0:
		m.Icon = Generating
		per := 0.0
		for _, a := range st.Active {
			per += a.PerSecond
		}
		title := "Answering " + control.Plural(len(st.Active), "request")
		if per > 0 {
			title = fmt.Sprintf("%s, %.0f tokens/s", title, per)
			if speed {
				m.Title = fmt.Sprintf("%.0f t/s", per)
			}
		}
		m.show(Status, title)
	case st.Phase == control.PhaseFailed:
		m.Icon = Failed
		m.show(Status, "No model")
	case st.Loaded != nil:
		m.show(Status, "Ready")
	default:
		m.show(Status, "Ready; the model is loaded by the first request")
	}
	if st.Address == "" || st.Error != "" {
		m.Icon = Failed
	}
}

// models fills the rows of models and of their actions.
func (m *Menu) models(v View) {
	st := v.State
	if st == nil || len(st.Models) == 0 {
		m.show(Models, "No models known yet")
		return
	}
	for i, x := range st.Models {
		if i == maxModels {
			m.offer(MoreModels, fmt.Sprintf("%d more in the window…", len(st.Models)-maxModels),
				OpenWindow, "")
			break
		}
		slot, title := Models+Slot(i), x.ID
		if st.Resident(x.ID) == nil && x.LoadMS > 0 {
			title = fmt.Sprintf("%s, ready in %s",
				title, roughly(time.Duration(x.LoadMS)*time.Millisecond))
		}
		m.offer(slot, title, Load, x.ID)
		m.Rows[slot].Checked = x.ID == st.Choice
	}
	for i, l := range st.InMemory {
		if i == maxUnloads {
			break // the window has all of them
		}
		title := "Unload " + l.ID
		if l.Bytes > 0 {
			title += ", " + control.GiB.Of(l.Bytes)
		}
		m.offer(Unload+Slot(i), title, UnloadModel, l.ID)
		m.Rows[Unload+Slot(i)].Enabled = !l.InUse
	}
	if l := st.Loaded; l != nil {
		m.offer(Drafting, "Guess ahead", SetDrafting, l.ID)
		m.Rows[Drafting].Checked = l.Drafter != ""
	}
}

func (m *Menu) downloads(v View) {
	if v.State == nil {
		return
	}
	for i, d := range v.State.Downloads {
		if i == maxDownloads {
			break
		}
		title := "Downloading " + d.ID
		switch {
		case d.Error != "":
			title = d.ID + ": " + d.Error
		case d.Paused:
			title = "Paused: " + d.ID
		case d.Waiting != "":
			title = d.ID + ": " + d.Waiting
		}
		if d.Total > 0 && d.Error == "" {
			title = fmt.Sprintf("%s, %d %%", title, d.Done*100/d.Total)
		}
		m.offer(Downloads+Slot(i), title, OpenWindow, "")
	}
}

// rest fills the rows below the last line.
func (m *Menu) rest(v View) {
	m.offer(Window, "Open Tandem…", OpenWindow, "")
	if v.Login != LoginUnknown {
		m.offer(AtLogin, "Start at login", SetLogin, "")
		m.Rows[AtLogin].Checked = v.Login == LoginOn
	}
	m.offer(Quit, "Quit Tandem", Leave, "")
}

// roughly formats a time as a person would say it.
func roughly(d time.Duration) string {
	s := math.Ceil(d.Seconds())
	if s < 90 {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.0f min", math.Round(s/60))
}
