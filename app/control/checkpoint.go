package control

import "fmt"

// A Checkpoint is the state of a model after a text, on disk.
type Checkpoint struct {
	CheckpointFile

	// TextOnly is true after an update that computes differently: the text is read again when it is
	// used, and then kept in place of this checkpoint.
	TextOnly bool `json:"text_only,omitempty"`

	// Text is the end of the text, or all of it where GET /app/checkpoints/{id} says whole=true. A
	// list leaves it out. It is empty too when the model has been removed.
	Text string `json:"text,omitempty"`

	// Only lists have these two. Title is the subject of the text. Chats of the window have one. Other
	// texts have one after it was asked for (see CheckpointTitles). Client is whose request computed
	// the text.
	Title  string `json:"title,omitempty"`
	Client string `json:"client,omitempty"`
}

// KindAnswer is the kind of a checkpoint whose tokens were generated, at least in part.
const KindAnswer = "answer"

// CheckpointChange is the body of POST /app/checkpoints/{id}. A nil field stays.
type CheckpointChange struct {
	Name   *string `json:"name,omitempty"` // empty takes the name away
	Pinned *bool   `json:"pinned,omitempty"`
}

// A CheckpointUpdate is a change of one checkpoint.
type CheckpointUpdate struct {
	Checkpoint string `json:"-"` // its id, or the name that it has
	CheckpointChange
}

func (u *CheckpointUpdate) params(p *params) { checkpointInPath(&u.Checkpoint, p) }

// A CheckpointRead asks for a checkpoint.
type CheckpointRead struct {
	Checkpoint string // id or name
	Whole      bool   // with its whole text, not only the end
}

func (r *CheckpointRead) params(p *params) {
	checkpointInPath(&r.Checkpoint, p)
	p.flag("whole", &r.Whole)
}

// A CheckpointDeletion names a checkpoint to delete.
type CheckpointDeletion struct {
	Checkpoint string // id or name
	All        bool   // with the checkpoints that continue it
}

func (d *CheckpointDeletion) params(p *params) {
	checkpointInPath(&d.Checkpoint, p)
	p.flag("all", &d.All)
}

// Deleted is the answer of DELETE /app/checkpoints/{id}: what was deleted, with all that went on
// from it. GET /app/checkpoints/{id}/deletion answers the same, or why it would be refused; it
// deletes nothing.
type Deleted struct {
	Checkpoints []string `json:"checkpoints"`
	Bytes       int64    `json:"bytes"` // of their files
}

// Integrity is the answer of POST /app/checkpoints/{id}/verify.
type Integrity struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"` // what is wrong with the file; empty if nothing is
}

// ForgetRequest is the body of POST /app/forget: the history and the checkpoints to delete. Each
// field that is not empty narrows it. At least one is not empty.
type ForgetRequest struct {
	Model  string `json:"model,omitempty"`
	Client string `json:"client,omitempty"` // as the history has it
	Day    string `json:"day,omitempty"`    // YYYY-MM-DD, where the server is
}

func (r *ForgetRequest) params(p *params) {
	p.query("model", &r.Model)
	p.query("client", &r.Client)
	p.query("day", &r.Day)
}

// Forgotten is the answer of POST /app/forget: what was deleted. GET /app/forget answers what would
// be deleted; it deletes nothing.
type Forgotten struct {
	Runs        int   `json:"runs"`
	Checkpoints int   `json:"checkpoints"`
	Tokens      int   `json:"tokens"` // of the memory of texts
	Bytes       int64 `json:"bytes"`  // of the files of these

	// InFlight counts the runs that have not ended. They stay in the history; what they compute is
	// not kept.
	InFlight int `json:"in_flight"`
}

// Amount says in words how much was forgotten, or would be. Texts alone are said without the runs.
func (g Forgotten) Amount() string {
	what := Plural(g.Tokens, "token")
	if g.Runs+g.Checkpoints > 0 || g.Tokens == 0 {
		what = fmt.Sprintf("%s, %s and %s", Plural(g.Runs, "run"),
			Plural(g.Checkpoints, "checkpoint"), what)
	}
	return fmt.Sprintf("%s of remembered texts, which frees %s", what, ByteSize(g.Bytes))
}

// A Divergence is the place where a prompt stops being the same as a kept text.
type Divergence struct {
	At     int    `json:"at"`            // tokens that both begin with
	Kept   string `json:"kept"`          // the next token of the kept text
	Given  string `json:"given"`         // the next token of the prompt
	Answer bool   `json:"answer"`        // the kept text is an answer there
	New    bool   `json:"new,omitempty"` // all before what was said since the last answer is the same
	Run    int64  `json:"run,omitempty"` // whose text was kept; 0 = unknown
}

// A DivergenceText is a Divergence with the words around it, as far as the texts are still kept.
type DivergenceText struct {
	Divergence
	Before    string `json:"before,omitempty"`     // the last words that both have
	KeptText  string `json:"kept_text,omitempty"`  // how the kept text goes on, from Kept on
	GivenText string `json:"given_text,omitempty"` // how the prompt goes on, from Given on
}
