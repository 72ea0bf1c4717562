package record

import "time"

// A CheckpointFile describes a file with the state of a text, or a file that is gone. Fields without
// a JSON name are not sent.
type CheckpointFile struct {
	ID        string    `json:"id"`
	Parent    string    `json:"parent"` // id of the checkpoint that ends at FromToken; empty at the beginning
	Model     string    `json:"model"`
	Key       string    `json:"-"`    // of the weights, and of everything else that the state depends on
	Context   string    `json:"-"`    // of the drafter whose context is in the file
	Kind      string    `json:"kind"` // prompt or answer
	FromToken int       `json:"from_token"`
	ToToken   int       `json:"to_token"`
	Bytes     int64     `json:"bytes"`
	Digest    string    `json:"-"`   // of the text up to ToToken
	Run       int64     `json:"run"` // the run that computed it; 0 = unknown
	Hits      int       `json:"hits"`
	Name      string    `json:"name"`
	Pinned    bool      `json:"pinned"`
	Gone      string    `json:"-"` // why the file is gone; empty while it is there
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"`  // when it was last restored, made, or lost
	SavedMS   float64   `json:"saved_ms"` // milliseconds that all uses saved, at the model's pace, less those of restoring; below 0 = they cost time
}

// CheckpointQuery selects checkpoints whose files are there. The zero value means the 200 that were
// used last.
type CheckpointQuery struct {
	Model  string // only those of this model
	Before string // the Next of the page before; empty = the first page
	Limit  int    // at most 1000; 0 = 200
}
