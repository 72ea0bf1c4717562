package plan

// A Step is what an [Action] does.
type Step int

const (
	// Unload frees a model.
	Unload Step = iota
	// Wait waits until the texts in flight fit beside a model that is being loaded, see
	// [State.Overdrawn].
	Wait
	// Load loads a model.
	Load
	// Shrink takes checkpoints out of memory.
	Shrink
)

// An Action is one step of a plan.
type Action struct {
	Step  Step
	Model string // id of the model to unload or to load

	// Finish lets an Unload wait until no request holds the model; it gets no new ones. Without it the
	// model is idle. If a request has come since, the plan is made again.
	Finish bool

	Need  Need  // of a Load, and of the load that a Wait is for
	Bytes int64 // that a Shrink leaves to checkpoints
}
