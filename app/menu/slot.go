package menu

// A Slot is one row's place in the menu or in a submenu of it. Slots are shown in their order.
type Slot int

// How many rows of a kind the menu has.
const (
	maxRequests  = 3
	maxResidents = 4
	maxModels    = 20
	maxDownloads = 3
)

// The rows of a request in flight, counted from its own. They follow each other.
const (
	ShowRun     = 1 // in its submenu, as is the next
	StopRun     = 2
	requestRows = 3
)

// The rows of a model in memory, counted from its own.
const (
	Choose       = 1 // in its submenu, as are the next
	Unload       = 2
	DraftAhead   = 3
	SetModel     = 4
	residentRows = 5
)

// The slots. A range is named by its first slot; the others follow it. Between the two lines a row
// is always shown, because a line cannot be hidden.
const (
	Status   Slot = iota // what Tandem is doing, unless the requests show it
	Requests             // the first of maxRequests requests in flight, with their rows

	StopAll    = Requests + maxRequests*requestRows
	Pressure   = StopAll + 1    // what was freed, while the machine is short of memory
	Problem    = Pressure + 1   // what failed, in plain words
	StartAgain = Problem + 1    // after too many crashes
	TryPort    = StartAgain + 1 // try the endpoint's port again, which was taken
	UsePort    = TryPort + 1    // use another port

	line1      = UsePort + 1
	ModelHead  = line1 + 1
	Residents  = ModelHead + 1 // the first of maxResidents models in memory, with their rows
	Models     = Residents + maxResidents*residentRows
	MoreModels = Models + maxModels // the rest are in the window
	Downloads  = MoreModels + 1     // the first of maxDownloads

	line2       = Downloads + maxDownloads
	Today       = line2 + 1 // what the requests of today were, and what they saved
	NewChat     = Today + 1
	Window      = NewChat + 1
	Endpoint    = Window + 1 // the address, which a click copies
	Preferences = Endpoint + 1
	AtLogin     = Preferences + 1 // whether Tandem starts at login
	Quit        = AtLogin + 1

	Slots = Quit + 1 // how many there are
)

// IsLine reports whether a slot is a line between others.
func (s Slot) IsLine() bool { return s == line1 || s == line2 }

// Parent returns the row in whose submenu a slot is. inside is false for a row of the menu itself. A
// row with a submenu opens that, and does nothing else.
func (s Slot) Parent() (parent Slot, inside bool) {
	for _, r := range []struct {
		first, end, rows Slot
	}{
		{Requests, StopAll, requestRows}, {Residents, Models, residentRows},
	} {
		if s >= r.first && s < r.end {
			parent = s - (s-r.first)%r.rows
			return parent, parent != s
		}
	}
	return s, false
}
