package menu

// A Slot is one row's place in the menu. Slots are shown in their order.
type Slot int

// How many rows of a kind the menu has.
const (
	maxModels    = 20
	maxUnloads   = 4
	maxDownloads = 3
)

// The slots. A range is named by its first slot; the others follow it. Between the two lines a row
// is always shown, because a line cannot be hidden.
const (
	Status     Slot = iota // what Tandem is doing
	Problem                // what failed, in plain words
	StartAgain             // after too many crashes
	TryPort                // try the endpoint's port again, which was taken
	UsePort                // use another port
	Endpoint               // the address, which a click copies
	line1
	Models // the first of maxModels

	MoreModels = Models + maxModels  // the rest are in the window
	Unload     = MoreModels + 1      // the first of maxUnloads
	Drafting   = Unload + maxUnloads // whether drafts are made
	Downloads  = Drafting + 1        // the first of maxDownloads

	line2   = Downloads + maxDownloads
	Window  = line2 + 1
	AtLogin = Window + 1 // whether Tandem starts at login
	Quit    = AtLogin + 1

	Slots = Quit + 1 // how many there are
)

// IsLine reports whether a slot is a line between others.
func (s Slot) IsLine() bool { return s == line1 || s == line2 }
