package control

// What drafts for a model, beside a folder.
const (
	DrafterAuto = "auto" // the one beside the model, if any
	DrafterNone = "none" // no drafter with weights; looking up what the text said before goes on
)

// DrafterRequest asks what drafts for a model, or sets it: the body of POST /app/drafter.
type DrafterRequest struct {
	Model string `json:"model" need:"name an installed model"`

	// Drafter is auto, none, an absolute folder, or org/name of one in the hub's cache. Empty
	// changes nothing.
	Drafter string `json:"drafter,omitempty"`
}

// Drafter says what drafts for a model.
type Drafter struct {
	Model  string `json:"model"`
	Choice string `json:"choice"`           // auto, none or a folder
	Source string `json:"source"`           // the folder that it leads to; empty if there is none
	Loaded bool   `json:"loaded"`           // the model is in memory, and so is its drafter
	Kind   string `json:"kind,omitempty"`   // dflash, dspark, mtp or model, once loaded
	Reason string `json:"reason,omitempty"` // why the drafter cannot be used

	// How the drafter's checkpoint is read where its config.json does not say; empty = as is usual.
	Embedding string  `json:"embedding,omitempty"`
	Sliding   string  `json:"sliding,omitempty"`
	Trials    []Trial `json:"trials,omitempty"`    // the measurements that decided
	Measuring bool    `json:"measuring,omitempty"` // they are not complete
}

// A DrafterChoice is a drafter that a person can choose for a model.
type DrafterChoice struct {
	Name   string `json:"name"`   // for people
	Source string `json:"source"` // as in Drafter
	Choice string `json:"choice"` // what sets it, see DrafterRequest

	// Suits says that it is for this model by its folder or its name, or that it is set. The others
	// are in the hub's cache.
	Suits bool `json:"own,omitempty"`
}

// A Trial is the measurement of one reading of a drafter.
type Trial struct {
	Embedding       string  `json:"embedding,omitempty"`
	Sliding         string  `json:"sliding,omitempty"`
	TokensPerVerify float64 `json:"tokens_per_verify"` // greedy, of whole blocks
	Blocks          int     `json:"blocks"`
}
