package menu

// An Icon is the picture in the menu bar. Each is a template image: the system colours it.
type Icon string

// The icons.
const (
	Idle       Icon = "idle"
	Loading    Icon = "loading"
	Generating Icon = "generating"
	Failed     Icon = "error"
)

// A Row is what a slot shows. The zero Row is hidden.
type Row struct {
	Shown   bool
	Title   string
	Checked bool
	Enabled bool

	// Do is the action of a click. About is its object: a model's id, an address, or ids of runs.
	Do    Action
	About string
}

// An Action is what a click does.
type Action int

// The actions. A row without one cannot be clicked, unless it has a submenu.
const (
	Nothing     Action = iota
	Copy               // About
	Load               // About
	UnloadModel        // About
	SetDrafting        // About; turns all its drafts on or off
	StopRuns           // About: ids with spaces between them
	OpenWindow         // About: what to show, see control.ToShow
	SetLogin           // turns it on or off
	SetPort            // About; empty = the port that was taken
	Restart            // the server
	Leave
)

// A Menu is everything that is shown.
type Menu struct {
	Icon    Icon
	Title   string // beside the icon, or ""
	Tooltip string
	Rows    [Slots]Row
}

// A Surface draws. The library redraws with each call, so calls are kept few. SetRow gets what the
// row showed before. If the row was hidden, the surface sets all of it.
type Surface interface {
	SetIcon(Icon)
	SetTitle(string)
	SetTooltip(string)
	SetRow(s Slot, before, after Row)
}

// Draw makes a surface that shows the menu before show the menu after. It touches only what
// differs.
func Draw(s Surface, before, after *Menu) {
	if before.Icon != after.Icon {
		s.SetIcon(after.Icon)
	}
	if before.Title != after.Title {
		s.SetTitle(after.Title)
	}
	if before.Tooltip != after.Tooltip {
		s.SetTooltip(after.Tooltip)
	}
	for i := range after.Rows {
		slot := Slot(i)
		// A row that is hidden before and after is not drawn. It keeps what it showed last.
		if slot.IsLine() || before.Rows[i] == after.Rows[i] || !before.Rows[i].Shown &&
			!after.Rows[i].Shown {
			continue
		}
		s.SetRow(slot, before.Rows[i], after.Rows[i])
	}
}
