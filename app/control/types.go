package control

import (
	"fmt"
	"time"
)

// Alias is the model name that means the current model.
const Alias = "tandem"

// A Phase says what the serving process is doing.
type Phase string

const (
	PhaseStarting Phase = "starting"
	PhaseNoModel  Phase = "no_model" // nothing is loaded; a request loads the choice
	PhaseLoading  Phase = "loading"
	PhaseReady    Phase = "ready"
	PhaseFailed   Phase = "failed" // the choice cannot be loaded; see State.Error
	PhaseDraining Phase = "draining"
)

// Words returns a phase as people read it after the model's name.
func (p Phase) Words() string {
	if p == PhaseNoModel {
		return "loads on first use"
	}
	return string(p)
}

// State is the answer of GET /app/state. A client that accepts text/event-stream gets it again
// after each change: see [Follower].
type State struct {
	Rev int64 `json:"rev,omitempty"` // counts the events of a stream, from 1 on

	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Home      string    `json:"home"`
	Address   string    `json:"address"` // http://127.0.0.1:8263; empty while the endpoint is closed
	StartedAt time.Time `json:"started_at"`

	Phase   Phase    `json:"phase"`
	Choice  string   `json:"choice"`            // the id that the name "tandem" stands for
	Loading *Loading `json:"loading,omitempty"` // nil unless a model is being loaded
	Loaded  *Loaded  `json:"loaded"`            // the chosen model if it is in memory, else the one used last; nil if none is
	Error   string   `json:"error,omitempty"`   // what failed, one sentence
	Warning string   `json:"warning,omitempty"` // what is not as it should be although all works, one sentence

	InMemory []Loaded `json:"in_memory"` // all models in memory, in the order of their loads

	// PortTaken says which program has the endpoint's port; nil if the port is free or ours.
	PortTaken *PortTaken `json:"port_taken,omitempty"`

	// EndpointClosed says that the endpoint should be open and is not. Error says why, and POST
	// /app/port tries again.
	EndpointClosed bool `json:"endpoint_closed,omitempty"`

	// IssuePage is the form for problems; empty if the program was built without one.
	IssuePage string `json:"issue_page,omitempty"`

	// MenuSpeed shows tokens per second beside the icon in the menu bar.
	MenuSpeed bool `json:"menu_speed,omitempty"`

	Welcome bool `json:"welcome,omitempty"` // the first steps have been neither gone through nor skipped

	// ContextLimit cuts every model's context, in tokens; 0 does not.
	ContextLimit int `json:"context_limit,omitempty"`

	Models []Choosable `json:"models"` // the registry, the last used first

	Downloads []Download `json:"downloads"` // oldest first

	ActiveBytes int64 `json:"active_bytes"`          // MLX, now
	PeakBytes   int64 `json:"peak_bytes"`            // MLX, since start
	MemoryRoom  int64 `json:"memory_room,omitempty"` // bytes that models may take; 0 = not known

	// Pressure says that the whole machine is short of memory, and what Tandem freed; nil while it is
	// not.
	Pressure *Pressure `json:"pressure,omitempty"`

	Active []Active `json:"active"` // requests in flight, oldest first; the server fills it in

	Measuring *BenchProgress `json:"measuring,omitempty"` // how far a bench is; nil if none runs
}

// Choosable is what it takes to choose a model of the registry.
type Choosable struct {
	ID     string `json:"id"`
	LoadMS int64  `json:"load_ms,omitzero"` // of the last load; 0 = never loaded
}

// Download is a pull that goes on by itself, or that a person paused.
type Download struct {
	ID        string `json:"id"`
	Done      int64  `json:"done"`  // bytes, all files together
	Total     int64  `json:"total"` // bytes, all files together; 0 until it is known
	PerSecond int64  `json:"per_second"`
	Paused    bool   `json:"paused,omitempty"`
	Waiting   string `json:"waiting,omitempty"` // why nothing moves
	Error     string `json:"error,omitempty"`   // why it failed, one sentence

	// Drafter is the id of the drafter that comes with a suggested model. Its bytes count in Done
	// and Total. DrafterError says why it failed, one sentence; the model goes on without it.
	Drafter      string `json:"drafter,omitempty"`
	DrafterError string `json:"drafter_error,omitempty"`
}

// Loading says how far a model's load has come.
type Loading struct {
	ID    string `json:"id"`
	Done  int64  `json:"done"`  // bytes of weights
	Total int64  `json:"total"` // zero until it is known
}

// Loaded describes a model in memory.
type Loaded struct {
	ID            string `json:"id"`
	Architecture  string `json:"architecture"`
	ContextLength int    `json:"context_length"` // tokens
	Device        string `json:"device"`         // "cpu" or "gpu"
	Dtype         string `json:"dtype"`
	KVBits        int    `json:"kv_bits,omitempty"` // of an element in keys and values that are kept; 0 = as they are computed
	LoadMS        int64  `json:"load_ms"`
	Queued        int    `json:"queued"`                  // requests waiting for their first chunk
	Drafter       string `json:"drafter,omitempty"`       // kind of the drafter in memory; empty if there is none
	NoDrafter     string `json:"no_drafter,omitempty"`    // why there is none, where there should be
	Drafting      string `json:"drafting,omitempty"`      // on or off, for requests that do not say; empty if that cannot be set
	ShortContext  string `json:"short_context,omitempty"` // why the context is shorter than the one asked for

	// KVLayout is KVFull, or empty for the default, KVRing. A model of `tandem-lab serve` may say bounded.
	KVLayout string `json:"kv_layout,omitempty"`

	Bytes int64 `json:"bytes"`            // of memory: its weights and its drafter's; 0 = not known
	Needs int64 `json:"needs"`            // of memory, with a whole context; 0 = not known
	InUse bool  `json:"in_use,omitempty"` // a request uses it, so it cannot be unloaded now
}

// KVNote returns how the model keeps keys and values, such as ", kv_bits 8", to follow another text. It is
// empty for the defaults.
func (l *Loaded) KVNote() (text string) {
	if l.KVBits > 0 {
		text = fmt.Sprintf(", kv_bits %d", l.KVBits)
	}
	if l.KVLayout != "" {
		text += ", " + l.KVLayout
	}
	return text
}

// The values of Loaded.Drafting. It is off if the depth that is set for the model is 0: then nothing
// drafts, with a drafter or without one.
const (
	DraftingOn  = "on"
	DraftingOff = "off"
)

// The values of --kv-layout. With ring, a layer that looks back over a window keeps a ring of rows. With
// full, it keeps every row.
const (
	KVRing = "ring"
	KVFull = "full"
)

// Active is one request in flight.
type Active struct {
	RunID     int64     `json:"run_id"`
	Endpoint  string    `json:"endpoint"`
	Model     string    `json:"model"`
	Client    string    `json:"client"`
	StartedAt time.Time `json:"started_at"`

	Begun            bool `json:"begun,omitzero"` // the reading of its prompt has begun; the first part may take seconds
	PromptDone       int  `json:"prompt_done"`    // prompt tokens evaluated, or restored
	PromptTokens     int  `json:"prompt_tokens"`
	PromptRestored   int  `json:"prompt_restored,omitzero"` // of PromptDone, from checkpoints
	CompletionTokens int  `json:"completion_tokens"`

	RestoringSince time.Time `json:"restoring_since,omitzero"` // zero before the engine begins; readings of texts have none
	ReadingSince   time.Time `json:"reading_since,omitzero"`   // zero before the reading begins
	WritingSince   time.Time `json:"writing_since,omitzero"`   // zero before the first token

	PerSecond float64 `json:"per_second"` // tokens, over the last seconds; 0 before the second token
	Verifies  int     `json:"verifies"`   // rounds with drafts
	Drafted   int     `json:"drafted"`    // tokens of the drafts in these rounds
	Accepted  int     `json:"accepted"`   // of Drafted
}

// Waits reports whether the engine has not begun: the request is in a queue, or its model is being
// loaded.
func (a Active) Waits() bool {
	return a.RestoringSince.IsZero() && a.unread()
}

// Restores reports whether the prompt's checkpoint is being restored.
func (a Active) Restores() bool { return !a.RestoringSince.IsZero() && a.unread() }

// Reads reports whether the prompt is being read.
func (a Active) Reads() bool { return a.PromptTokens > 0 && a.CompletionTokens == 0 && !a.unread() }

// unread reports whether the reading of the prompt has not begun.
func (a Active) unread() bool { return !a.Begun && a.PromptDone == 0 && a.CompletionTokens == 0 }

// Reading returns how many tokens of the prompt were read, and how many have to be in all. Restored
// tokens do not count.
func (a Active) Reading() (done, all int) {
	return a.PromptDone - a.PromptRestored, a.PromptTokens - a.PromptRestored
}

// ModelList is the answer of GET /app/models.
type ModelList struct {
	Models []Model `json:"models"` // registered
}

// Finish reasons of a run beside OpenAI's.
const (
	FinishCancel      = "cancel" // the client left, or the run was cancelled
	FinishError       = "error"
	FinishInterrupted = "interrupted" // the program ended first, or the client left and may come back
)

// Resident returns a model in memory by its id, nil if it is not there.
func (s *State) Resident(id string) *Loaded {
	for i := range s.InMemory {
		if s.InMemory[i].ID == id {
			return &s.InMemory[i]
		}
	}
	return nil
}

// ContextOf returns the context with which a model that has length tokens is served: that of the model in
// memory, else its own, cut by the limit.
func (s *State) ContextOf(id string, length int) int {
	if l := s.Resident(id); l != nil {
		return l.ContextLength
	}
	if s.ContextLimit > 0 {
		return min(length, s.ContextLimit)
	}
	return length
}

// LoadRequest is the body of POST /app/load.
type LoadRequest struct {
	Model string `json:"model" need:"name an installed model"`
}

// UnloadRequest is the body of POST /app/unload.
type UnloadRequest struct {
	Model string `json:"model"` // empty = all in memory
}

// RevealRequest is the body of POST /app/reveal.
type RevealRequest struct {
	Model string `json:"model" need:"give the model's id"`
}

// AddRequest registers a folder: the body of POST /app/models.
type AddRequest struct {
	Path string `json:"path" need:"give the model's folder"` // absolute
	ID   string `json:"id,omitempty"`                        // empty = from the folder's name
}

// PullRequest is the body of POST /app/pull.
type PullRequest struct {
	ID       string `json:"id" need:"name a model of the hub, org/name"`
	Revision string `json:"revision,omitempty"` // empty = main

	// NoDrafter leaves out the drafter that would come with a suggested model.
	NoDrafter bool `json:"no_drafter,omitempty"`
}

// DropRequest is the body of POST /app/downloads/drop.
type DropRequest struct {
	ID      string `json:"id" need:"name a download"`
	Discard bool   `json:"discard,omitempty"` // delete what Tandem fetched of it; otherwise it stays in the cache
}

// Progress is one event of a pull. The last event has Model set, or is an error event. A model that
// is pulled is registered; a drafter is not.
type Progress struct {
	Done      int64  `json:"done"`              // bytes, all files together
	Total     int64  `json:"total"`             // bytes, all files together
	PerSecond int64  `json:"per_second"`        // bytes, over the last seconds
	Waiting   string `json:"waiting,omitempty"` // why nothing moves, e.g. a pause between attempts
	Note      string `json:"note,omitempty"`    // what a person should know although the pull succeeds; at most one event has it
	Model     *Model `json:"model,omitempty"`
}

// SessionCode is the answer of POST /app/session on the socket. The code buys one session, once,
// before it expires.
type SessionCode struct {
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"`
	URL       string    `json:"url"` // http://127.0.0.1:PORT/#CODE
}

// SessionRequest is the body of POST /app/session over TCP.
type SessionRequest struct {
	Code string `json:"code"` // of the link that was opened
}

// Session is the answer of POST /app/session over TCP: the token for the header Authorization:
// Bearer.
type Session struct {
	Session string `json:"session"`
}
