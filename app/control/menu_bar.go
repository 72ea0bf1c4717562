package control

// AtLogin says whether Tandem starts at login. It is the answer of GET /supervisor/login, which the
// window asks at the menu bar's door. POST takes one and sets On.
type AtLogin struct {
	Known bool `json:"known"` // it can be chosen here
	On    bool `json:"on"`
}

// ToShow is the answer of POST /supervisor/to-show, which the window asks at the menu bar's door. It
// says what a row of the menu wants the window to show, once: an address such as #/now, or the id of
// an action in the interface's table of keys. It is empty if a row wants the window alone.
type ToShow struct {
	Show string `json:"show"`
}
