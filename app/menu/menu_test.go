package menu

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/app/control"
)

// A paper is a Surface. Like the library's, its rows keep their content while they are hidden.
type paper struct {
	icon           Icon
	title, tooltip string
	rows           [Slots]Row
	calls          int
}

func (p *paper) SetIcon(i Icon)      { p.icon = i; p.calls++ }
func (p *paper) SetTitle(s string)   { p.title = s; p.calls++ }
func (p *paper) SetTooltip(s string) { p.tooltip = s; p.calls++ }

func (p *paper) SetRow(s Slot, before, after Row) {
	p.calls++
	if s.IsLine() {
		panic("a line changes")
	}
	if !after.Shown {
		p.rows[s].Shown = false
		return
	}
	p.rows[s] = after
}

// visible returns what a person sees, as text.
func (p *paper) visible() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s|%s\n", p.icon, p.title, p.tooltip)
	for s, r := range p.rows {
		if r.Shown {
			fmt.Fprintf(&b, "%d %+v\n", s, r)
		}
	}
	return b.String()
}

// random returns a random view, which may be an impossible one.
func random(r *rand.Rand) View {
	v := View{Login: []Login{LoginUnknown, LoginOff, LoginOn}[r.IntN(3)]}
	if r.IntN(4) == 0 {
		v.Failure = "the last click failed"
	}
	switch r.IntN(8) {
	case 0:
		return v
	case 1:
		v.Crashed = "it was killed"
		return v
	}
	phases := []control.Phase{control.PhaseStarting, control.PhaseNoModel, control.PhaseLoading,
		control.PhaseReady, control.PhaseFailed, control.PhaseDraining}
	st := &control.State{Phase: phases[r.IntN(len(phases))], Choice: fmt.Sprintf("m%d", r.IntN(30))}
	st.MenuSpeed = r.IntN(2) == 0
	if r.IntN(2) == 0 {
		st.Address = "http://127.0.0.1:8263"
	} else if r.IntN(2) == 0 {
		st.PortTaken = &control.PortTaken{Port: 8263, Owner: "another program",
			Next: r.IntN(2) * 8264}
	}
	if r.IntN(3) == 0 {
		st.Error = strings.Repeat("no good ", r.IntN(20))
	}
	if r.IntN(3) == 0 {
		st.Warning = "the disk is full"
	}
	if r.IntN(2) == 0 {
		st.Loading = &control.Loading{ID: "m1", Done: r.Int64N(100), Total: r.Int64N(2) * 100}
	}
	if r.IntN(2) == 0 {
		st.Loaded = &control.Loaded{ID: st.Choice, Drafter: []string{"", "dflash"}[r.IntN(2)]}
		st.InMemory = []control.Loaded{*st.Loaded}
		for i := range r.IntN(6) {
			st.InMemory = append(st.InMemory,
				control.Loaded{ID: fmt.Sprintf("x%d", i), Bytes: r.Int64N(2) << 30,
					InUse: r.IntN(2) == 0})
		}
	}
	if r.IntN(4) == 0 {
		st.Pressure = &control.Pressure{Unloaded: make([]string, r.IntN(3)),
			CheckpointBytes: r.Int64N(2) << 30}
	}
	for i := range r.IntN(6) {
		a := control.Active{RunID: int64(i + r.IntN(3)), Client: []string{"zed", "curl/8"}[r.IntN(2)],
			PerSecond: float64(r.IntN(100)), CompletionTokens: r.IntN(2), PromptTokens: r.IntN(2) * 100}
		a.PromptDone = r.IntN(a.PromptTokens + 1)
		st.Active = append(st.Active, a)
	}
	v.Left = map[int64]time.Duration{int64(r.IntN(3)): time.Duration(r.IntN(9)) * time.Second}
	if r.IntN(2) == 0 {
		v.Today = &control.Today{Requests: r.IntN(3), Failed: r.IntN(2), DraftsMS: r.Float64() * 1e4}
	}
	for i := range r.IntN(30) {
		st.Models = append(st.Models, control.Choosable{ID: fmt.Sprintf("m%d", i),
			LoadMS: r.Int64N(3) * 1000})
	}
	for i := range r.IntN(6) {
		st.Downloads = append(st.Downloads, control.Download{ID: fmt.Sprintf("d%d", i),
			Done: r.Int64N(100), Total: r.Int64N(2) * 100, Paused: r.IntN(3) == 0})
	}
	v.State = st
	return v
}

// After each of a thousand changes, drawn as differences, the menu looks like one that was drawn at
// once. Rows that stay the same are not touched.
func TestDrawTouchesOnlyWhatDiffers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	shown, p := new(Menu), new(paper)
	for i := range 1000 {
		after := Of(shown, random(r))
		Draw(p, shown, after)
		shown = after
		var fresh paper
		Draw(&fresh, new(Menu), after)
		if p.visible() != fresh.visible() {
			t.Fatalf("change %d:\n%swant\n%s", i, p.visible(), fresh.visible())
		}
		calls := p.calls
		if Draw(p, after, after); p.calls != calls {
			t.Fatal("a row that did not change is drawn again")
		}
		if !anyShown(after, 0, line1) || !anyShown(after, line1+1, line2) ||
			!anyShown(after, line2+1, Slots) {
			t.Fatalf("two lines have no row between them: %s", fresh.visible())
		}
		for s, row := range after.Rows {
			parent, inside := Slot(s).Parent()
			opens := after.Rows[parent]
			if row.Shown && inside && (!opens.Shown || !opens.Enabled || opens.Do != Nothing) {
				t.Fatalf("the row %d cannot be reached: %s", s, fresh.visible())
			}
			if row.Enabled && row.Do == Nothing &&
				!anyShown(after, Slot(s)+1, Slot(s)+requestRows) {
				t.Fatalf("the row %d does nothing: %s", s, fresh.visible())
			}
		}
	}
}

// anyShown reports whether a row from one slot up to another is shown.
func anyShown(m *Menu, from, to Slot) bool {
	return slices.ContainsFunc(m.Rows[from:to], func(r Row) bool { return r.Shown })
}

// Each example of a state is shown in plain words.
func TestStatesAreSaidInPlainWords(t *testing.T) {
	for _, c := range []struct {
		file, status, problem string
		icon                  Icon
	}{
		{"starting", "Starting…", "", Loading},
		{"no_model", "Ready (the model loads on first use)", "", Idle},
		{"loading", "Loading org/coder-8b, 40 %", "", Loading},
		{"ready", "Ready", "", Idle},
		{"two_models", "Ready", "", Idle},
		{"generating", "Answering 2 requests, 61 tokens/s", "", Generating},
		{"port_taken", "Ready", "port 8263 is taken by python3", Failed},
		{"endpoint_closed", "Ready", "too many open files", Failed},
		{"load_failed", "No model", "The model org/coder-8b is no longer", Failed},
		{"memory_pressure", "Ready", "", Idle},
		{"disk_full", "Ready", "no space left on device", Idle},
		{"download_failed", "Ready", "", Idle},
		{"download_stalled", "Ready", "", Idle},
	} {
		b, err := os.ReadFile(filepath.Join("..", "control", "testdata", "states", c.file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		st := new(control.State)
		if err := json.Unmarshal(b, st); err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		m := Of(new(Menu), View{State: st})
		if got := m.Rows[Status].Title; got != c.status && c.file != "generating" {
			t.Errorf("%s: %q, want %q", c.file, got, c.status)
		}
		if m.Tooltip != "Tandem: "+c.status {
			t.Errorf("%s: the tooltip is %q", c.file, m.Tooltip)
		}
		if got := m.Rows[Problem].Title; !strings.Contains(got, c.problem) ||
			(got == "") != (c.problem == "") {
			t.Errorf("%s: the problem is %q, want %q", c.file, got, c.problem)
		}
		if m.Icon != c.icon {
			t.Errorf("%s: icon %s, want %s", c.file, m.Icon, c.icon)
		}
		if use, try := m.Rows[UsePort], m.Rows[TryPort]; c.file == "port_taken" &&
			(use.Title != "Use Port 8264" || use.About != "8264" || use.Do != SetPort ||
				try.Do != SetPort || try.About != "" || !try.Enabled) {
			t.Errorf("%s: %+v %+v", c.file, use, try)
		} else if c.file == "endpoint_closed" &&
			(use.Shown || try.Title != "Try to Open the Endpoint Again" || try.Do != SetPort ||
				try.About != "" || !try.Enabled) {
			t.Errorf("%s: %+v %+v", c.file, use, try)
		} else if c.file != "port_taken" && c.file != "endpoint_closed" &&
			(use.Shown || try.Shown) {
			t.Errorf("%s: a port is offered", c.file)
		}
		if c.file == "download_failed" && !strings.Contains(m.Rows[Downloads].Title, "no room") {
			t.Errorf("%s: %q", c.file, m.Rows[Downloads].Title)
		}
	}
	if m := Of(new(Menu), View{Crashed: "it was killed"}); !m.Rows[StartAgain].Enabled ||
		m.Rows[Problem].Title != "it was killed" || m.Icon != Failed {
		t.Errorf("crashed: %+v", m.Rows[:line1])
	}
}

// Tokens per second are beside the icon if the settings say so.
func TestSpeedFollowsTheSetting(t *testing.T) {
	for on, want := range map[bool]string{false: "", true: "40 t/s"} {
		st := &control.State{Phase: control.PhaseReady, Address: "http://127.0.0.1:8263",
			MenuSpeed: on, Active: []control.Active{{PerSecond: 40, CompletionTokens: 9}}}
		if got := Of(new(Menu), View{State: st}).Title; got != want {
			t.Errorf("with the setting %t the title is %q", on, got)
		}
	}
}

// A download's row shows its progress, or what stops it, and opens the window. The window also has
// the downloads without a row.
func TestDownloadRowsSayHowFar(t *testing.T) {
	st := &control.State{Downloads: []control.Download{
		{ID: "a", Done: 40, Total: 100}, {ID: "b", Done: 5, Total: 10, Paused: true}, {ID: "c"},
	}}
	check := func(want ...string) {
		t.Helper()
		m := Of(new(Menu), View{State: st})
		for i, title := range want {
			if r := m.Rows[Downloads+Slot(i)]; r != (Row{Shown: true, Title: title, Enabled: true,
				Do: OpenWindow, About: "#/models"}) {
				t.Errorf("row %d: %+v, want %q", i, r, title)
			}
		}
		if r := m.Rows[line2]; r.Shown {
			t.Errorf("the line: %+v", r)
		}
	}
	check("Downloading a, 40 %", "Paused: b, 50 %", "Downloading c")
	st.Downloads = []control.Download{
		{ID: "a", Done: 40, Total: 100, Waiting: "trying again in 8 s"}, {ID: "b", Paused: true},
		{ID: "c", Done: 1, Total: 2, Error: "no room"}, {ID: "d"},
	}
	check("a: trying again in 8 s, 40 %", "Paused: b", "c: no room")
}

// The login row has a mark if Tandem starts at login. It is hidden if that is unknown.
func TestLoginRowIsHiddenIfUnknown(t *testing.T) {
	for login, want := range map[Login]Row{
		LoginUnknown: {},
		LoginOff:     {Shown: true, Title: "Start at Login", Enabled: true, Do: SetLogin},
		LoginOn: {Shown: true, Title: "Start at Login", Enabled: true, Do: SetLogin,
			Checked: true},
	} {
		if got := Of(new(Menu), View{Login: login}).Rows[AtLogin]; got != want {
			t.Errorf("%q: %+v, want %+v", login, got, want)
		}
	}
}
