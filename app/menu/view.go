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
	State *control.State // of the process that serves; nil while it does not answer

	// Crashed is why the server is no longer started. While State is nil and Crashed is empty, the
	// server is starting.
	Crashed string

	Left  map[int64]time.Duration // how long prompts are still read, by run id, see [Reading]
	Today *control.Today          // nil while it is not known

	Login   Login
	Failure string // of the last click, or else of the start; in plain words
}

// Login says whether Tandem starts at login.
type Login string

// The values of Login.
const (
	LoginUnknown Login = "" // cannot be set here
	LoginOff     Login = "off"
	LoginOn      Login = "on"
)

// maxTitle limits an external string in a row, in runes.
const maxTitle = 96

// Of returns the menu of a view. before is shown now: requests and models in memory keep the rows that
// they have there, because the library redraws a menu while it is open.
func Of(before *Menu, v View) *Menu {
	m := &Menu{Icon: Idle, Tooltip: "Tandem"}
	m.status(before, v)
	m.models(before, v)
	m.downloads(v)
	m.rest(v)
	return m
}

func (m *Menu) show(s Slot, title string) {
	m.Rows[s] = Row{Shown: true, Title: clip(title)}
}

// open shows a row that has a submenu.
func (m *Menu) open(s Slot, title string) {
	m.Rows[s] = Row{Shown: true, Title: clip(title), Enabled: true}
}

func (m *Menu) showAction(s Slot, title string, do Action, about string) {
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

// abouts returns the objects of n rows. The next one is always step slots further.
func (m *Menu) abouts(first Slot, n int, step Slot) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = m.Rows[first+Slot(i)*step].About
	}
	return list
}

// status fills the rows above the first line, the icon and the title.
func (m *Menu) status(before *Menu, v View) {
	problem, says := v.Failure, ""
	switch st := v.State; {
	case v.Crashed != "":
		m.Icon, says = Failed, "Tandem has stopped"
		m.showAction(StartAgain, "Start Again", Restart, "")
		problem = v.Crashed
	case st == nil:
		m.Icon, says = Loading, "Starting…"
	default:
		says = m.phase(st)
		m.requests(before, v)
		if st.Error != "" {
			problem = st.Error
		} else if problem == "" {
			problem = st.Warning
		}
		m.remedies(st)
		if p := st.Pressure; p != nil {
			m.showAction(Pressure, p.Line(), OpenWindow, "#/now")
		}
	}
	if m.Icon != Generating || len(v.State.Active) > maxRequests {
		m.show(Status, says)
	}
	if problem != "" {
		m.show(Problem, problem)
	}
	m.Tooltip = "Tandem: " + says
}

// remedies fills the rows that help to open a closed endpoint.
func (m *Menu) remedies(st *control.State) {
	if p := st.PortTaken; p != nil {
		m.showAction(TryPort, fmt.Sprintf("Try Port %d Again", p.Port), SetPort, "")
		if p.Next != 0 {
			m.showAction(UsePort, fmt.Sprintf("Use Port %d", p.Next), SetPort, strconv.Itoa(p.Next))
		}
	} else if st.EndpointClosed {
		m.showAction(TryPort, "Try to Open the Endpoint Again", SetPort, "")
	}
}

// phase returns what the process is doing, and sets the icon and the text beside it.
func (m *Menu) phase(st *control.State) (says string) {
	switch {
	case st.Phase == control.PhaseLoading && st.Loading != nil:
		m.Icon = Loading
		says = "Loading " + st.Loading.ID
		if l := st.Loading; l.Total > 0 {
			says = fmt.Sprintf("%s, %d %%", says, l.Done*100/l.Total)
		}
	case st.Phase == control.PhaseStarting:
		m.Icon, says = Loading, "Starting…"
	case st.Phase == control.PhaseDraining:
		says = "Stopping…"
	case len(st.Active) > 0:
		m.Icon = Generating
		says = "Answering " + control.Plural(len(st.Active), "request")
		if per := speed(st.Active); per > 0 {
			says = fmt.Sprintf("%s, %.0f tokens/s", says, per)
		}
		if st.MenuSpeed {
			m.Title = beside(st.Active)
		}
	case st.Phase == control.PhaseFailed:
		m.Icon, says = Failed, "No model"
	case st.Loaded != nil:
		says = "Ready"
	default:
		says = "Ready (the model loads on first use)"
	}
	if st.Address == "" || st.Error != "" {
		m.Icon = Failed
	}
	return says
}

// rest fills the rows below the last line.
func (m *Menu) rest(v View) {
	if t := v.Today; t != nil && t.Requests > 0 {
		m.showAction(Today, today(t), OpenWindow, "#/now")
	}
	if v.State != nil {
		m.showAction(NewChat, "New Chat…", OpenWindow, "chat")
	}
	m.showAction(Window, "Open Tandem…", OpenWindow, "")
	if v.State != nil && v.State.Address != "" {
		m.showAction(Endpoint, "Copy Address "+strings.TrimPrefix(v.State.Address, "http://"), Copy,
			v.State.Address+"/v1")
	}
	m.showAction(Preferences, "Settings…", OpenWindow, "#/settings")
	if v.Login != LoginUnknown {
		m.showAction(AtLogin, "Start at Login", SetLogin, "")
		m.Rows[AtLogin].Checked = v.Login == LoginOn
	}
	m.showAction(Quit, "Quit Tandem", Leave, "")
}

// today says how many requests there were, how many failed, and how much time checkpoints and
// drafts saved.
func today(t *control.Today) string {
	text := "Today: " + control.Plural(t.Requests, "request")
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	saved := time.Duration((t.CheckpointsMS + t.DraftsMS) * float64(time.Millisecond))
	if saved >= time.Second {
		text += ", " + roughly(saved) + " saved"
	}
	return text
}

// roughly formats a time as a person would say it.
func roughly(d time.Duration) string {
	s := math.Ceil(d.Seconds())
	if s < 90 {
		return fmt.Sprintf("%.0f s", s)
	}
	minutes := int(math.Round(s / 60))
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
