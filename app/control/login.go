package control

// AtLogin says whether Tandem starts at login. It is the answer of GET /supervisor/login, which the
// window asks at the menu bar's door. POST takes one and sets On.
type AtLogin struct {
	Known bool `json:"known"` // it can be chosen here
	On    bool `json:"on"`
}
