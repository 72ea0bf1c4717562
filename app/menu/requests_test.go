package menu

import (
	"testing"
	"time"

	"tandem/app/control"
)

// Each request says who asks, what it does and how far it is. Its submenu leads to its run and stops
// it. Up to three have rows, and then no other row says it again.
func TestRequestsSayWhatIsAnswered(t *testing.T) {
	st := &control.State{Phase: control.PhaseReady, Address: "http://127.0.0.1:8263",
		MenuSpeed: true, Active: []control.Active{
			{RunID: 12, Client: "claude-cli/2.1", PromptDone: 750, PromptTokens: 1000},
			{RunID: 14, Client: "zed/1", PromptDone: 9, PromptTokens: 9, CompletionTokens: 5, PerSecond: 41.4},
			{RunID: 15, Client: "phone", PromptTokens: 900},
		}}
	left := map[int64]time.Duration{12: 4300 * time.Millisecond}
	m := Of(new(Menu), View{State: st, Left: left})
	for i, want := range []string{"Claude Code: reading 75 %, 5 s left", "Zed: writing, 41 tokens/s",
		"phone: waiting"} {
		if r := m.Rows[Requests+Slot(i)*requestRows]; r != (Row{Shown: true, Title: want, Enabled: true}) {
			t.Errorf("row %d: %+v, want %q", i, r, want)
		}
	}
	if r := m.Rows[Requests+ShowRun]; r.Do != OpenWindow || r.About != "#/runs/12" {
		t.Errorf("the run: %+v", r)
	}
	if r := m.Rows[Requests+requestRows+StopRun]; r.Do != StopRuns || r.About != "14" {
		t.Errorf("stop: %+v", r)
	}
	if r := m.Rows[StopAll]; r.Title != "Stop All" || r.Do != StopRuns || r.About != "12 14 15" {
		t.Errorf("stop all: %+v", r)
	}
	if m.Rows[Status].Shown || m.Title != "41 t/s" ||
		m.Tooltip != "Tandem: Answering 3 requests, 41 tokens/s" {
		t.Errorf("%+v, %q, %q", m.Rows[Status], m.Title, m.Tooltip)
	}
	st.Active = append(st.Active, control.Active{RunID: 16})
	if m = Of(new(Menu), View{State: st}); m.Rows[Status].Title != "Answering 4 requests, 41 tokens/s" ||
		m.Rows[StopAll].About != "12 14 15 16" {
		t.Errorf("four requests: %+v, %+v", m.Rows[Status], m.Rows[StopAll])
	}
	st.Active = st.Active[:1]
	if m = Of(new(Menu), View{State: st}); m.Title != "75 %" || m.Rows[StopAll].Title != "Stop" ||
		m.Rows[Requests].Title != "Claude Code: reading 75 %" {
		t.Errorf("one that is read: %q, %+v", m.Title, m.Rows[:StopAll+1])
	}
}

// A request waits until its checkpoint is restored, and then its prompt is read. Restored tokens do not count as read.
func TestReadingBeginsAfterTheWait(t *testing.T) {
	for _, c := range []struct {
		a             control.Active
		doing, beside string
	}{
		{control.Active{}, "waiting", ""},
		{control.Active{PromptTokens: 1000}, "waiting", ""},
		{control.Active{PromptTokens: 1000, RestoringSince: time.Now()}, "restoring", ""},
		{control.Active{PromptTokens: 1000, RestoringSince: time.Now(), Begun: true}, "reading 0 %", "0 %"},
		{control.Active{PromptTokens: 1000, PromptDone: 600, PromptRestored: 600}, "reading 0 %", "0 %"},
		{control.Active{PromptTokens: 1000, PromptDone: 900, PromptRestored: 600}, "reading 75 %", "75 %"},
		{control.Active{PromptTokens: 1000, PromptDone: 1000, PromptRestored: 1000}, "reading 0 %", "0 %"},
		{control.Active{PromptTokens: 9, PromptDone: 9, CompletionTokens: 1}, "writing", ""},
	} {
		if got, title := doing(c.a, 0), beside([]control.Active{c.a}); got != c.doing ||
			title != c.beside {
			t.Errorf("%+v: %q and %q, want %q and %q", c.a, got, title, c.doing, c.beside)
		}
	}
	waits, reads := control.Active{PromptTokens: 9}, control.Active{PromptTokens: 4, PromptDone: 1}
	if got := beside([]control.Active{waits, reads}); got != "25 %" {
		t.Errorf("beside one that waits stands %q", got)
	}
}

// The time that is left follows from the speed since the first look, and not before half a second.
func TestTimeLeftFollowsFromTheSpeed(t *testing.T) {
	start := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	var reading Reading
	reading.Left(start.Add(-time.Minute), []control.Active{{RunID: 7, PromptTokens: 5000}}) // it waits
	reading.Left(start.Add(-time.Second), []control.Active{{RunID: 7, PromptTokens: 5000, RestoringSince: start}})
	for _, c := range []struct {
		at   time.Duration
		done int
		want time.Duration
	}{
		{0, 1000, 0},
		{400 * time.Millisecond, 1400, 0},
		{time.Second, 1000, 0}, // nothing was read
		{2 * time.Second, 2000, 6 * time.Second},
		{4 * time.Second, 4000, 4 * time.Second / 3},
	} {
		left := reading.Left(start.Add(c.at), []control.Active{
			{RunID: 7, PromptDone: c.done, PromptTokens: 5000}, {RunID: 8, CompletionTokens: 1}})
		if left[7] != c.want || len(reading) != 1 {
			t.Errorf("after %v: %v, want %v", c.at, left[7], c.want)
		}
	}
	if reading.Left(start, nil); len(reading) != 0 {
		t.Error("a request that has ended is remembered")
	}
}

// Today's line and a shortage of memory are shown while they apply.
func TestTodayAndAShortageAreTold(t *testing.T) {
	today := func(of *control.Today) string { return Of(new(Menu), View{Today: of}).Rows[Today].Title }
	for want, of := range map[string]*control.Today{
		"": {}, "Today: 1 request": {Requests: 1, DraftsMS: 900},
		"Today: 214 requests, 1 h 48 min saved":   {Requests: 214, DraftsMS: 6e6, CheckpointsMS: 48e4},
		"Today: 2 requests, 1 failed, 40 s saved": {Requests: 2, Failed: 1, CheckpointsMS: 4e4},
	} {
		if got := today(of); got != want {
			t.Errorf("%+v: %q, want %q", of, got, want)
		}
	}
	st := &control.State{Pressure: &control.Pressure{Unloaded: []string{"org/a"},
		Since: time.Date(2026, 11, 27, 14, 3, 0, 0, time.Local)}}
	if r := Of(new(Menu), View{State: st}).Rows[Pressure]; r.Title !=
		"Short of memory since 14:03: unloaded org/a" || r.Do != OpenWindow || r.About != "#/now" {
		t.Errorf("a shortage: %+v", r)
	}
	st.Pressure = nil
	if r := Of(new(Menu), View{State: st}).Rows[Pressure]; r.Shown {
		t.Errorf("after a shortage: %+v", r)
	}
}

// The last rows lead into the window, or copy the address.
func TestLastRowsLeadIntoTheWindow(t *testing.T) {
	m := Of(new(Menu), View{State: &control.State{Address: "http://127.0.0.1:8263"}, Login: LoginOn})
	for s, want := range map[Slot]Row{
		NewChat:     {Title: "New Chat…", Do: OpenWindow, About: "chat"},
		Window:      {Title: "Open Tandem…", Do: OpenWindow},
		Endpoint:    {Title: "Copy Address 127.0.0.1:8263", Do: Copy, About: "http://127.0.0.1:8263/v1"},
		Preferences: {Title: "Settings…", Do: OpenWindow, About: "#/settings"},
		Quit:        {Title: "Quit Tandem", Do: Leave},
	} {
		want.Shown, want.Enabled = true, true
		if got := m.Rows[s]; got != want {
			t.Errorf("slot %d: %+v, want %+v", s, got, want)
		}
	}
}
