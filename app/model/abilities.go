package model

import "tandem/app/dialect"

// Abilities say what a model can do besides text.
type Abilities struct {
	Tools    bool // it can call tools
	Thinking bool // it thinks before it answers
	FIM      *FIM // the texts by which it fills in the middle; nil if it cannot
}

// NewAbilities returns the abilities of a model that writes in d. fim may be nil.
func NewAbilities(d *dialect.Dialect, fim *FIM) Abilities {
	return Abilities{Tools: d.Tools(), Thinking: d.Reasons(), FIM: fim}
}

// FIM holds the texts of a model's fill-in-the-middle tokens.
type FIM struct {
	Prefix, Suffix, Middle string
}
